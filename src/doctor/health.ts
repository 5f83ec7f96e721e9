import type { Clock } from "../clock.js";
import type { Check } from "./check.js";

/** What `doctor` finds, for those who look at it in a running server. */

/** Checks start processes and connect anew: those who ask again sooner are told the same. */
const keptMs = 30_000;

export interface Examined {
  readonly checks: readonly Check[];
  readonly at: Date;
}

export class Health {
  private last: Promise<Examined> | undefined;
  /** By the clock. While it is examined there is no end: what hangs is not begun once more beside it. */
  private keptUntil = Number.POSITIVE_INFINITY;

  constructor(
    private readonly examine: () => Promise<readonly Check[]>,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /** At most half a minute old, or what is being examined. */
  now(): Promise<Examined> {
    if (this.last && this.clock.now() < this.keptUntil) return this.last;
    this.keptUntil = Number.POSITIVE_INFINITY;
    const examined = this.examine().then((checks) => ({ checks, at: new Date() }));
    this.last = examined;
    examined.then(
      () => {
        this.keptUntil = this.clock.now() + keptMs;
      },
      () => {
        this.last = undefined;
      },
    );
    return examined;
  }
}
