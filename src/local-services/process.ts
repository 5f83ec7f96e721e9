import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.js";

/** A process that is started, started again whenever it ends, and stopped. */

export interface Program {
  readonly name: string;
  /** Spawns its process. @throws Error when that cannot even be tried */
  readonly launch: () => ChildProcess;
  /** Asks for an orderly end; PostgreSQL's fast shutdown is SIGINT. */
  readonly endSignal: NodeJS.Signals;
  /** Resolves when it answers; rejects while it does not yet. */
  readonly answers: () => Promise<void>;
}

export interface SupervisedProcess {
  /** Id of the current process; undefined while it is being started again. */
  pid(): number | undefined;
  stop(): Promise<void>;
}

const startDeadlineMs = 120_000;
const endDeadlineMs = 10_000;

/**
 * Starts a program and waits until it answers; undefined when its process ended before that (its output says why).
 * From then on it is started again whenever it ends, until `stop`.
 * @throws Error when it runs and does not answer for two minutes, or cannot be run at all
 */
export async function supervise(program: Program, log: Log): Promise<SupervisedProcess | undefined> {
  const { name } = program;
  let child: ChildProcess;
  let stopping = false;
  const start = async (): Promise<boolean> => {
    child = program.launch();
    child.on("error", () => undefined);
    await once(child, "spawn");
    return answering(program, child);
  };
  const startAgain = async (): Promise<void> => {
    log.error({ service: name }, `${name} ended unexpectedly and is started again`);
    // After a kill of its main process PostgreSQL refuses to start until its orphans are gone; that takes tenths of
    // a second, so the first tries follow each other closely.
    for (let pauseMs = 100; !stopping; pauseMs = Math.min(pauseMs * 1.5, 5_000)) {
      try {
        if (await start()) return log.info({ service: name }, `${name} is back`);
      } catch (error) {
        log.error({ err: error }, `${name} cannot be started`);
      }
      if (!stopping) await sleep(pauseMs);
    }
  };
  const keepRunning = async (): Promise<void> => {
    while (!stopping) {
      if (!hasEnded(child)) await new Promise((resolve) => child.once("exit", resolve));
      if (!stopping) await startAgain();
    }
  };

  if (!(await start())) return undefined;
  const supervision = keepRunning();
  return {
    pid: () => (hasEnded(child) ? undefined : child.pid),
    stop: async () => {
      stopping = true;
      for (const signal of [program.endSignal, "SIGQUIT", "SIGKILL"] as const) {
        if (!hasEnded(child)) child.kill(signal);
        if (await endsWithin(child, endDeadlineMs)) break;
        log.warn({ service: name }, `${name} did not end on ${signal}`);
      }
      await supervision;
    },
  };
}

/** Resolves with true when the program answers, with false when its process ended first. */
async function answering({ name, answers }: Program, child: ChildProcess): Promise<boolean> {
  for (const deadline = Date.now() + startDeadlineMs; !hasEnded(child); await endsWithin(child, 20)) {
    try {
      await answers();
      return !hasEnded(child);
    } catch (error) {
      if (Date.now() < deadline) continue;
      child.kill("SIGKILL");
      throw new Error(`${name} does not answer: ${(error as Error).message}`, { cause: error });
    }
  }
  return false;
}

const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** Resolves with true when the child has ended, with false after `ms`. */
async function endsWithin(child: ChildProcess, ms: number): Promise<boolean> {
  if (!hasEnded(child)) await once(child, "exit", { signal: AbortSignal.timeout(ms) }).catch(() => undefined);
  return hasEnded(child);
}
