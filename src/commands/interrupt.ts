import { constants } from "node:os";
import { isOfNpx } from "../config.js";

/** Ctrl-C and SIGTERM for commands that have to clean up before they end. */

/** How soon it is seen that npx has ended. */
const npxMs = 200;

type Name = "SIGINT" | "SIGTERM";
const names: readonly Name[] = ["SIGINT", "SIGTERM"];

/** The command was ended by a signal. */
export class Interrupted extends Error {
  /** Exit status by the convention of shells: 130 for Ctrl-C, 143 for SIGTERM. */
  readonly status: number;

  constructor(readonly signal: Name) {
    super(`Ended by ${signal}.`);
    this.status = 128 + constants.signals[signal];
  }
}

/** Whether it was Ctrl-C. */
export const isByTerminal = ({ reason }: AbortSignal): boolean =>
  reason instanceof Interrupted && reason.signal === "SIGINT";

/**
 * Runs work that can be interrupted. A second Ctrl-C ends the process at once.
 * @param work its signal is aborted with `Interrupted` as the reason; what it then returns or throws is passed on
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
        // Under npm the first one comes twice, from the terminal and from npm: a second one within a second is ignored.
      } else if (performance.now() - stoppedAt > 1_000) process.exit(reason.status);
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  const shell = process.ppid;
  // A signal ends npx and its shell, between it and us, and neither passes it on.
  const look = () => {
    if (process.ppid !== shell && !controller.signal.aborted) controller.abort(new Interrupted("SIGTERM"));
  };
  const watch = isOfNpx() ? setInterval(look, npxMs).unref() : undefined;
  try {
    return await work(controller.signal);
  } finally {
    clearInterval(watch);
    for (const remove of listeners) remove();
  }
}
