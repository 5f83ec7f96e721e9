import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.js";
import type { Log } from "../log.js";
import type { FromNode, ToNode } from "../node-process.js";
import { type Listener, ownersOf, PortWatch } from "./listeners.js";

/** The node processes of one machine: started, watched and ended by their parent. They share the port. */

/** A node that died is started again at once; one that dies while starting, after a pause. */
const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** What a node needs to stop beyond the times for balancers and requests. */
const ownStopMs = 8_000;
/** How often a port that nodes share is checked for other processes. */
const watchMs = 5_000;

interface Slot {
  child: ChildProcess | undefined;
  /** It has served once: from then on it is always started again. */
  served: boolean;
  /** Failed starts in a row. */
  failures: number;
  pause: NodeJS.Timeout | undefined;
}

export class Nodes {
  private readonly slots: Slot[] = [];
  private readonly watch: PortWatch;
  private watching: NodeJS.Timeout | undefined;
  private stopping = false;

  /** @param config with a port that is not 0 */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {
    this.watch = new PortWatch(config.port, () => this.pids());
  }

  /** Starts all nodes; resolves when each listens. @throws Error when one cannot start, or another process shares its port */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: this.config.nodes }, () => this.open()));
    // A single node does not share its port.
    if (this.config.nodes === 1) return;
    const foreign = await this.watch.foreignListeners();
    if (foreign.length > 0) throw new Error(await this.warning(foreign));
    this.watching = setInterval(() => void this.checkPort(), watchMs);
  }

  /** Process ids of the nodes that run now. */
  pids(): number[] {
    return this.slots.flatMap((slot) => slot.child?.pid ?? []);
  }

  /** Lets each node say for `drainMs` that it stops, and end its requests within `requestMs`, then ends it. */
  async stop(requestMs: number, drainMs = 0): Promise<void> {
    this.stopping = true;
    clearInterval(this.watching);
    await Promise.all(
      this.slots.map((slot) => {
        clearTimeout(slot.pause);
        return slot.child ? this.end(slot.child, { requestMs, drainMs }) : undefined;
      }),
    );
  }

  /** Logs processes that have joined the nodes on their port. */
  private async checkPort(): Promise<void> {
    try {
      const foreign = await this.watch.foreignListeners();
      if (foreign.length > 0) this.log.error({ port: this.config.port }, await this.warning(foreign));
    } catch (error) {
      this.log.warn({ err: error }, "the port could not be checked for other processes");
    }
  }

  private async warning(foreign: readonly Listener[]): Promise<string> {
    const owners = await ownersOf(foreign.map(({ inode }) => inode));
    const who = owners.length > 0 ? owners.join(" and ") : "another process";
    return `Port ${this.config.port} is shared with ${who}, which gets a part of the requests: end it.`;
  }

  private open(): Promise<void> {
    const slot: Slot = { child: undefined, served: false, failures: 0, pause: undefined };
    this.slots.push(slot);
    return this.run(slot);
  }

  private run(slot: Slot): Promise<void> {
    return new Promise((resolve, reject) => {
      let listening = false;
      let reason = "it ended while it started";
      const ended = (how: { readonly code?: number | null; readonly signal?: NodeJS.Signals | null }) => {
        slot.child = undefined;
        reject(new Error(`A node could not start: ${reason}.`));
        if (this.stopping || !slot.served) return;
        if (!listening) slot.failures++;
        this.log.error({ ...how, ...(listening ? {} : { reason }) }, "a node ended; starting another");
        const pause = slot.failures === 0 ? 0 : Math.min(firstPauseMs * 2 ** slot.failures, longestPauseMs);
        slot.pause = setTimeout(() => void this.run(slot).catch(() => undefined), pause);
      };
      const notCreated = (error: Error) => {
        reason = error.message;
        ended({});
      };
      let child: ChildProcess;
      try {
        child = forkNode();
      } catch (error) {
        // Most failures to create a process come as an event; some, such as a lack of memory, are thrown.
        return notCreated(error as Error);
      }
      // Without a process there is no exit, and there may be no channel.
      if (child.pid === undefined) return void child.once("error", notCreated);
      slot.child = child;
      child.on("error", (error) => this.log.error({ err: error, pid: child.pid }, "node process"));
      child.on("exit", (code, signal) => ended({ code, signal }));
      child.on("message", (message: FromNode) => {
        if (message.kind === "failed") reason = message.reason;
        else {
          listening = true;
          slot.failures = 0;
          slot.served = true;
          resolve();
        }
      });
      const start: ToNode = { kind: "start", config: this.config };
      child.send(start, (error) => {
        // The channel closes when the node dies; its exit does the rest.
        if (error) child.kill("SIGKILL");
      });
    });
  }

  private async end(
    child: ChildProcess,
    times: { readonly requestMs: number; readonly drainMs: number },
  ): Promise<void> {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    const stop: ToNode = { kind: "stop", ...times };
    child.send(stop, () => undefined);
    const timer = setTimeout(() => child.kill("SIGKILL"), times.drainMs + times.requestMs + ownStopMs);
    await gone;
    clearTimeout(timer);
  }
}

/**
 * V8 lets a heap grow by a tenth until it marks all of it again. A node allocates little on the heap and much beside it (bytes
 * of tiles), so it would spend more on that than on the requests: half of the CPU time of a vector tile.
 */
const heapGrowth = "--heap-growing-percent=100";

const forkNode = (): ChildProcess =>
  fork(fileURLToPath(new URL("../node-process.js", import.meta.url)), [], {
    serialization: "advanced",
    stdio: ["ignore", 2, 2, "ipc"],
    execArgv: [heapGrowth],
  });
