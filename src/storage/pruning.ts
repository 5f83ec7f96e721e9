import type { Log } from "../log.js";

const everyMs = 60_000;

/** Runs these passes now and then until it is stopped. Each shortens something that would grow for ever. */
export function startPruning(passes: readonly (() => Promise<void>)[], log: Log): { stop(): void } {
  const timer = setInterval(() => {
    for (const pass of passes)
      pass().catch((error: Error) => log.warn({ err: error }, "what is too old could not be pruned"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
