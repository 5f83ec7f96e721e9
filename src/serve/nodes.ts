import { type ChildProcess, fork } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import type { Config } from "../config.js";
import type { Log } from "../log.js";
import type { FromNode, ToNode } from "../node-process.js";

/** The node processes of one machine: started, watched and ended by their parent. They share the port. */

/** A node that died is started again at once; one that dies while starting, after a pause. */
const firstPauseMs = 200;
const longestPauseMs = 5_000;

interface Slot {
  child: ChildProcess | undefined;
  /** It has served once: from then on it is brought back whatever happens. */
  served: boolean;
  /** Starts in a row that failed. */
  failures: number;
  pause: NodeJS.Timeout | undefined;
}

export class Nodes {
  private readonly slots: Slot[] = [];
  private stopping = false;

  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Starts all nodes; resolves with their port when each listens. @throws Error when one cannot start */
  async start(): Promise<number> {
    // A port that the system chose for one process cannot be shared; one that is named can.
    const port = this.config.port || (await freePort(this.config.host));
    const config = { ...this.config, port };
    await Promise.all(Array.from({ length: config.nodes }, () => this.open(config)));
    return port;
  }

  /** Process ids of the nodes that run now. */
  pids(): number[] {
    return this.slots.flatMap((slot) => slot.child?.pid ?? []);
  }

  /** Lets each node end its requests within `drainMs`, then ends it. */
  async stop(drainMs: number): Promise<void> {
    this.stopping = true;
    await Promise.all(
      this.slots.map((slot) => {
        clearTimeout(slot.pause);
        return slot.child ? this.end(slot.child, drainMs) : undefined;
      }),
    );
  }

  private open(config: Config): Promise<number> {
    const slot: Slot = { child: undefined, served: false, failures: 0, pause: undefined };
    this.slots.push(slot);
    return this.run(slot, config);
  }

  private run(slot: Slot, config: Config): Promise<number> {
    const child = fork(fileURLToPath(new URL("../node-process.js", import.meta.url)), [], {
      serialization: "advanced",
      stdio: ["ignore", 2, 2, "ipc"],
      execArgv: [],
    });
    slot.child = child;
    const start: ToNode = { kind: "start", config };
    child.send(start);
    return new Promise((resolve, reject) => {
      let listening: number | undefined;
      let reason = "it ended while it started";
      child.on("message", (message: FromNode) => {
        if (message.kind === "failed") reason = message.reason;
        else {
          listening = message.port;
          slot.failures = 0;
          slot.served = true;
          resolve(message.port);
        }
      });
      child.on("exit", (code, signal) => {
        slot.child = undefined;
        reject(new Error(`A node could not start: ${reason}.`));
        if (this.stopping || !slot.served) return;
        if (listening === undefined) slot.failures++;
        this.log.error({ code, signal }, "a node ended; starting another");
        const again = { ...config, port: listening ?? config.port };
        const pause = slot.failures === 0 ? 0 : Math.min(firstPauseMs * 2 ** slot.failures, longestPauseMs);
        slot.pause = setTimeout(() => void this.run(slot, again).catch(() => undefined), pause);
      });
    });
  }

  private async end(child: ChildProcess, drainMs: number): Promise<void> {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    const stop: ToNode = { kind: "stop", drainMs };
    child.send(stop, () => undefined);
    const timer = setTimeout(() => child.kill("SIGKILL"), drainMs + 2_000);
    await gone;
    clearTimeout(timer);
  }
}

/** A port that is free at this moment. */
function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
