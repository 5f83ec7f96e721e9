import { type CoreWaits, coreWaits, longestWait } from "./process-state.js";

/**
 * The time that a task works in a child, under its deadline: waiting does not count, be it for a thread of the child, for a core,
 * or for this process. It is counted in steps, so that a pause of this process counts as one of them at most.
 */

/** How often the work of a task is counted. */
const stepMs = 250;
/** A timer that is later than this tells that this process, or the machine, had paused. */
const pauseMs = 100;
/** Of the time that a task takes at least so much counts, however long it waits for a core. */
const leastShare = 0.25;

export class WorkTime {
  private leftMs: number;
  /** Until when the work was counted, by `performance.now()`. */
  private countedAt = performance.now();
  /** What the threads of the child had waited for a core by then; none in the first step. */
  private waits: CoreWaits | undefined;
  /** The deadline was put off, as this process had paused. */
  private isPutOff = false;
  private timer: NodeJS.Timeout | undefined;

  /** Begins to count. @param pid of the child @param onOver the deadline has passed */
  constructor(
    private readonly deadlineMs: number,
    private readonly pid: number | undefined,
    private readonly onOver: () => void,
  ) {
    this.leftMs = deadlineMs;
    this.goOn();
  }

  /** The task works, at first or again. */
  goOn(): void {
    this.countedAt = performance.now();
    this.waits = undefined;
    this.nextStep();
  }

  /** The task waits for a thread. */
  pause(): void {
    this.stop();
    this.count();
    this.leftMs = Math.max(0, this.leftMs);
  }

  /** Counts no more. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /** What the task has worked so far. */
  get workedMs(): number {
    return this.deadlineMs - this.leftMs + Math.min(stepMs, performance.now() - this.countedAt);
  }

  private nextStep(): void {
    const ms = Math.min(stepMs, this.leftMs);
    this.timer = setTimeout(() => this.endStep(ms), ms);
  }

  private endStep(ms: number): void {
    const isLate = performance.now() - this.countedAt > ms + pauseMs;
    this.count();
    if (this.leftMs <= 0 && isLate && !this.isPutOff) {
      // The task may have been answered meanwhile.
      this.isPutOff = true;
      this.leftMs = stepMs;
    }
    if (this.leftMs <= 0) this.onOver();
    else this.nextStep();
  }

  private count(): void {
    const now = performance.now();
    const elapsed = Math.min(now - this.countedAt, stepMs + pauseMs);
    const waits = coreWaits(this.pid);
    const waited = this.waits ? longestWait(this.waits, waits) : 0;
    this.leftMs -= Math.max(leastShare * elapsed, elapsed - waited);
    this.countedAt = now;
    this.waits = waits;
  }
}
