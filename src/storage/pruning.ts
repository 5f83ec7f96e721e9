import type { Log } from "../log.js";

const everyMs = 60_000;

/** Runs the passes once a minute until it is stopped. Each deletes old rows from a table that would grow for ever. */
export function startPruning(passes: readonly (() => Promise<void>)[], log: Log): { stop(): void } {
  const timer = setInterval(() => {
    for (const pass of passes)
      pass().catch((error: Error) => log.warn({ err: error }, "old rows could not be deleted"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
