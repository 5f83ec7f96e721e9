import { openSync, readSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/**
 * How late the event loop of this process was, so that nothing could be answered meanwhile: in all, and without what its
 * thread waited for a core, which other programs had.
 */

/** A timer that should fire every so many milliseconds is watched; the rest of its intervals are delays. */
const resolutionMs = 10;
const nanosecondsPerSecond = 1e9;
const nanosecondsPerMillisecond = 1e6;

export class LoopDelay {
  // Its handle does not keep the process alive.
  private readonly histogram = monitorEventLoopDelay({ resolution: resolutionMs });

  // The histogram leaves out the interval in which it was reset.
  private latestMs = 0;
  private longestHeldMs = 0;
  /** When the timer fired last, and what had been waited for a core by then. */
  private fired: { readonly at: number; readonly waitedMs: number };

  /** @param waitedMs how long this thread has waited for a core since its start, in ms */
  constructor(private readonly waitedMs: () => number = waitsForCore()) {
    this.histogram.enable();
    this.fired = { at: performance.now(), waitedMs: waitedMs() };
    setInterval(() => this.fire(), resolutionMs).unref();
  }

  /** The longest delay since `reset`, in seconds. */
  get max(): number {
    return this.latestMs / 1000;
  }

  /** The delay that one in a hundred intervals exceeded since `reset`, in seconds. */
  get p99(): number {
    return this.seconds(this.histogram.count === 0 ? 0 : this.histogram.percentile(99));
  }

  /** The longest time since `reset` that work of this process held the loop, in seconds. */
  get held(): number {
    return this.longestHeldMs / 1000;
  }

  reset(): void {
    this.histogram.reset();
    this.latestMs = 0;
    this.longestHeldMs = 0;
  }

  private fire(): void {
    const now = { at: performance.now(), waitedMs: this.waitedMs() };
    const late = now.at - this.fired.at - resolutionMs;
    const waited = now.waitedMs - this.fired.waitedMs;
    this.latestMs = Math.max(this.latestMs, late);
    this.longestHeldMs = Math.max(this.longestHeldMs, late - waited);
    this.fired = now;
  }

  private seconds(interval: number): number {
    return Math.max(0, interval / nanosecondsPerSecond - resolutionMs / 1000);
  }
}

let waitsFile: number | undefined;

/** Linux counts it for each thread (`Documentation/scheduler/sched-stats.rst`). Without these counts it is 0. */
function waitsForCore(): () => number {
  const buffer = Buffer.alloc(128);
  try {
    // Of the main thread, whose event loop this is.
    waitsFile ??= openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    return () => 0;
  }
  const file = waitsFile;
  return () => {
    const length = readSync(file, buffer, 0, buffer.length, 0);
    const [, waited] = buffer.toString("latin1", 0, length).split(" ");
    return Number(waited) / nanosecondsPerMillisecond || 0;
  };
}
