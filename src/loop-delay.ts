import { monitorEventLoopDelay } from "node:perf_hooks";

/** How long the event loop of this process was held, so that nothing else could be answered. */

/** A timer that should fire every so many milliseconds is watched; the rest of its intervals are delays. */
const resolutionMs = 10;
const nanosecondsPerSecond = 1e9;

export class LoopDelay {
  // Its handle does not keep the process alive.
  private readonly histogram = monitorEventLoopDelay({ resolution: resolutionMs });

  constructor() {
    this.histogram.enable();
  }

  /** The longest delay since `reset`, in seconds. */
  get max(): number {
    return this.seconds(this.histogram.count === 0 ? 0 : this.histogram.max);
  }

  /** The delay that one in a hundred intervals exceeded since `reset`, in seconds. */
  get p99(): number {
    return this.seconds(this.histogram.count === 0 ? 0 : this.histogram.percentile(99));
  }

  reset(): void {
    this.histogram.reset();
  }

  private seconds(interval: number): number {
    return Math.max(0, interval / nanosecondsPerSecond - resolutionMs / 1000);
  }
}
