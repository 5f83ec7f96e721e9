import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.js";

/**
 * What took too long, such as a map in a style: it is refused at once for a while, which doubles each time. After that one
 * task about it is tried; if that is done in time, all are.
 */

interface Overrun {
  /** Until when it is refused, by the clock. */
  until: number;
  /** For how long it is refused. */
  readonly ms: number;
  /** One task is tried. */
  isTried: boolean;
}

const firstMs = 30_000;
const longestMs = 600_000;
/** Of more, those that were asked for longest ago are forgotten, as sizes, for which caches grow when they are filled. */
const bounds = { maxSize: 1_000, sizeCalculation: () => 1 };

export class Overruns {
  private readonly known = new LRUCache<string, Overrun>(bounds);
  /** When a task about it took long that may have waited for others. */
  private readonly suspects = new LRUCache<string, number>(bounds);

  constructor(
    private readonly clock: Pick<Clock, "now"> = { now: () => performance.now() },
    /** How long it is refused first, and at most. */
    private readonly times = { firstMs, longestMs },
  ) {}

  /** Whether nothing took too long lately. */
  get isEmpty(): boolean {
    return this.known.size === 0 && this.suspects.size === 0;
  }

  /** Whether it took too long lately, as far as is known. */
  has(about: string): boolean {
    return this.known.has(about) || this.suspects.has(about);
  }

  /** Whether it is refused now. Unlike `admits`, it says so without having one task tried. */
  refuses(about: string): boolean {
    const overrun = this.known.get(about);
    return overrun !== undefined && this.clock.now() < overrun.until;
  }

  /** Whether a task about it may be tried now. */
  admits(about: string): boolean {
    if (this.known.size === 0) return true;
    const overrun = this.known.get(about);
    if (!overrun) return true;
    const now = this.clock.now();
    if (now < overrun.until) return false;
    overrun.until = now + overrun.ms;
    overrun.isTried = true;
    return true;
  }

  /** The task that was to be tried was not begun: the next one is. */
  untried(about: string): void {
    const overrun = this.known.size > 0 ? this.known.peek(about) : undefined;
    if (!overrun?.isTried) return;
    overrun.isTried = false;
    overrun.until = this.clock.now();
  }

  /** A task about it took too long. */
  note(about: string): void {
    const earlier = this.known.get(about);
    const now = this.clock.now();
    // Of tasks that ran at once, one counts.
    if (earlier && !earlier.isTried && now < earlier.until) return;
    const ms = earlier ? Math.min(2 * earlier.ms, this.times.longestMs) : this.times.firstMs;
    this.known.set(about, { until: now + ms, ms, isTried: false });
  }

  /**
   * A task about it took too long, perhaps because of others, such as one who holds a lock: the second in a row counts.
   * @param begun when the task began, by the clock
   * @returns whether it counted
   */
  suspect(about: string, begun: number): boolean {
    const earlier = this.suspects.get(about);
    if (earlier === undefined) this.suspects.set(about, this.clock.now());
    else if (begun >= earlier) {
      this.note(about);
      return true;
    }
    return false;
  }

  /** A task about it was done in time. One that ran beside the one that took too long tells nothing. */
  done(about: string): void {
    if (this.suspects.size > 0) this.suspects.delete(about);
    if (this.known.size > 0 && this.known.peek(about)?.isTried) this.known.delete(about);
  }

  /** Forgets all. */
  clear(): void {
    this.known.clear();
    this.suspects.clear();
  }
}
