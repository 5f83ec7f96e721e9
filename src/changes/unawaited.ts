import type { Clock } from "../clock.js";

/**
 * Changes by SQL, of which nobody waits until all nodes have heard. A node that cannot be told has to learn that it has missed
 * something, so that one of the others waits for it a little later.
 */

/** An edit by the API is followed by the mark of the node that waits for it within milliseconds. */
const soonMs = 1_000;

export class UnawaitedChanges {
  private cancel: (() => void) | undefined;

  /** @param wait until all nodes have heard of what was committed before */
  constructor(
    private readonly clock: Pick<Clock, "after">,
    private readonly wait: () => Promise<unknown>,
  ) {}

  /** A change was announced without a mark. */
  noted(): void {
    this.cancel ??= this.clock.after(soonMs, () => {
      this.cancel = undefined;
      this.wait().catch(() => undefined);
    });
  }

  /** Some node waits until all have heard of what was announced before. */
  marked(): void {
    this.cancel?.();
    this.cancel = undefined;
  }
}
