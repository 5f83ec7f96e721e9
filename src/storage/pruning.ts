import type { Log } from "../log.js";

/** Runs the passes at that interval until it is stopped: most delete what would else grow for ever. */
export function startPruning(
  passes: readonly (() => Promise<unknown>)[],
  log: Log,
  everyMs = 60_000,
): { stop(): void } {
  const timer = setInterval(() => {
    for (const pass of passes)
      pass().catch((error: Error) => log.warn({ err: error }, "regular work failed; it is tried again"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
