import type { Log } from "../log.js";

/** Runs the passes at that interval until it is stopped. Each deletes what would else grow for ever. */
export function startPruning(
  passes: readonly (() => Promise<unknown>)[],
  log: Log,
  everyMs = 60_000,
): { stop(): void } {
  const timer = setInterval(() => {
    for (const pass of passes)
      pass().catch((error: Error) => log.warn({ err: error }, "what is old could not be deleted"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
