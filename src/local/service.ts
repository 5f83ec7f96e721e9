import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.js";
import type { Account } from "./accounts.js";

/** How one private service is run. */
export interface ServiceProgram {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Text for its standard input. */
  readonly input?: string;
  /** Open folder that it lives in; the program sees it as `/proc/self/fd/3`. */
  readonly folder: number;
  /** Open file for its messages. */
  readonly output: number;
  readonly account: Account | undefined;
  /** Asks for an orderly end; PostgreSQL's fast shutdown is SIGINT. */
  readonly endSignal: NodeJS.Signals;
  /** Resolves when it answers; rejects while it does not yet. */
  readonly answers: () => Promise<void>;
}

/** A service that is kept running until `stop`. */
export interface RunningService {
  /** Process id of the current process; it changes when the service had to be started again. */
  pid(): number | undefined;
  stop(): Promise<void>;
}

const startDeadlineMs = 120_000;
const endDeadlineMs = 10_000;

/** The path by which a service reaches the folder that it was handed open. */
export const inheritedFolder = "/proc/self/fd/3";

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Options with which a program of a service, or one that prepares for it, is spawned. */
export function spawnOptions(account: Account | undefined) {
  return {
    // Nothing of our environment concerns it: PGOPTIONS or DATABASE_URL of the caller must not reach it.
    env: { PATH: systemPath, LC_ALL: "C.UTF-8", TZ: "UTC" },
    cwd: "/",
    ...(account && { uid: account.uid, gid: account.gid }),
  };
}

/**
 * Spawned in a session of its own, so that Ctrl-C in the terminal does not reach it before we have drained;
 * with a parent-death signal, so that it ends even when we are killed.
 */
function launch(service: ServiceProgram): ChildProcess {
  const child = spawn(
    "setpriv",
    [`--pdeathsig=${service.endSignal}`, "--", service.program, ...service.args],
    {
      ...spawnOptions(service.account),
      detached: true,
      stdio: [
        service.input === undefined ? "ignore" : "pipe",
        service.output,
        service.output,
        service.folder,
      ],
    },
  );
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(service.input);
  return child;
}

const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** Resolves when the child has ended, with true, or after `ms`, with false. */
async function endedWithin(child: ChildProcess, ms: number): Promise<boolean> {
  const stopWaiting = new AbortController();
  const exit = new Promise<void>((resolve) => {
    if (ended(child)) resolve();
    else child.once("exit", () => resolve());
  });
  await Promise.race([exit, sleep(ms, undefined, { signal: stopWaiting.signal }).catch(() => undefined)]);
  stopWaiting.abort();
  return ended(child);
}

/** Resolves when the service answers; false when its process ended first. */
async function answering(service: ServiceProgram, child: ChildProcess): Promise<boolean> {
  const deadline = Date.now() + startDeadlineMs;
  let last: unknown;
  while (!ended(child)) {
    try {
      await service.answers();
      return !ended(child);
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${service.name} does not answer: ${(last as Error).message}`, { cause: last });
    }
    await endedWithin(child, 20);
  }
  return false;
}

class KeptService implements RunningService {
  private stopping = false;
  private restarting: Promise<void> = Promise.resolve();

  constructor(
    private readonly service: ServiceProgram,
    private child: ChildProcess,
    private readonly log: Log,
  ) {
    this.watch();
  }

  pid(): number | undefined {
    return ended(this.child) ? undefined : this.child.pid;
  }

  private watch(): void {
    const died = () => {
      if (!this.stopping) this.restarting = this.startAgain();
    };
    if (ended(this.child)) died();
    else this.child.once("exit", died);
  }

  private async startAgain(): Promise<void> {
    const { name } = this.service;
    this.log.error({ service: name }, `${name} ended unexpectedly and is started again`);
    // After a kill of its main process PostgreSQL refuses to start until its orphans are gone; that takes tenths of
    // a second, so the first tries follow each other closely.
    for (let pauseMs = 100; !this.stopping; pauseMs = Math.min(pauseMs * 1.5, 5_000)) {
      try {
        // Most reasons why no process can be made are told by an event; some, such as a lack of memory, are thrown.
        this.child = launch(this.service);
        this.child.on("error", (error) => this.log.error({ err: error }, `${name} cannot be started`));
        if (await answering(this.service, this.child)) {
          this.log.info({ service: name }, `${name} is back`);
          this.watch();
          return;
        }
      } catch (error) {
        this.log.error({ err: error }, `${name} cannot be started`);
      }
      if (!this.stopping) await sleep(pauseMs);
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    if (this.child.pid === undefined) return;
    for (const signal of [this.service.endSignal, "SIGQUIT", "SIGKILL"] as const) {
      if (!ended(this.child)) this.child.kill(signal);
      if (await endedWithin(this.child, endDeadlineMs)) break;
      this.log.warn({ service: this.service.name }, `${this.service.name} did not end on ${signal}`);
    }
    await this.restarting;
  }
}

/**
 * Starts a service and waits until it answers; undefined when its process ended before that (its output says why).
 * From then on it is started again whenever it ends, until `stop`.
 * @throws Error when it runs and does not answer for two minutes, or cannot be run at all
 */
export async function startService(service: ServiceProgram, log: Log): Promise<RunningService | undefined> {
  const child = launch(service);
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  return (await answering(service, child)) ? new KeptService(service, child, log) : undefined;
}
