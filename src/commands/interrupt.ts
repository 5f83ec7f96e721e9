import { constants } from "node:os";

/** Ctrl-C and SIGTERM, for commands that have something to put in order before they end. */

type Name = "SIGINT" | "SIGTERM";
const names: readonly Name[] = ["SIGINT", "SIGTERM"];

/** The command ended because it was told to. */
export class Interrupted extends Error {
  /** As shells have it: 130 for Ctrl-C, 143 for SIGTERM. */
  readonly status: number;

  constructor(signal: Name) {
    super(`Ended by ${signal}.`);
    this.status = 128 + constants.signals[signal];
  }
}

/**
 * Runs work that can be interrupted. A second Ctrl-C is for those who cannot wait: it ends the process at once.
 * @param work its signal is aborted with `Interrupted` as the reason; what it gives or throws then is its own affair
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let stoppedAt = 0;
  const listeners = names.map((name) => {
    const listener = () => {
      const reason = new Interrupted(name);
      if (!controller.signal.aborted) {
        stoppedAt = performance.now();
        controller.abort(reason);
        // Under npm the first comes twice, from the terminal and from npm, so one in the same second does not count.
      } else if (performance.now() - stoppedAt > 1_000) process.exit(reason.status);
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  try {
    return await work(controller.signal);
  } finally {
    for (const remove of listeners) remove();
  }
}
