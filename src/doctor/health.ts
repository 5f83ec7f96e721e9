import type { Clock } from "../clock.js";
import type { Config } from "../config.js";
import type { Check } from "./check.js";
import { examine } from "./doctor.js";

/** What `doctor` finds, for those who look at it in a running server. */

/** Checks start processes and connect anew: those who ask again sooner are told the same. */
const keptMs = 30_000;

export interface Examined {
  readonly checks: readonly Check[];
  readonly at: Date;
}

export class Health {
  private last: { readonly since: number; readonly examined: Promise<Examined> } | undefined;

  constructor(
    private readonly config: Config,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /** At most half a minute old, or what is being examined. */
  now(): Promise<Examined> {
    const now = this.clock.now();
    if (this.last && now < this.last.since + keptMs) return this.last.examined;
    const examined = examine(this.config).then((checks) => ({ checks, at: new Date() }));
    this.last = { since: now, examined };
    examined.catch(() => {
      this.last = undefined;
    });
    return examined;
  }
}
