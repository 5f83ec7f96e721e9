import { type Clock, systemClock } from "../clock.js";
import { busy } from "../errors.js";

/** Counting semaphore: a bounded number of holders at once, in the order in which they asked. */
export class Semaphore {
  private held = 0;
  private readonly queue: (() => void)[] = [];

  constructor(
    private readonly permits: number,
    private readonly timeoutMs: number,
    /** Message of the error when none becomes free in time. */
    private readonly refusal: string,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * A permit, released by calling what is returned (once or more).
   * @throws Failure busy when none became free in time; the signal's reason when it aborts
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.held < this.permits) this.held++;
    else await this.wait(signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      // The permit goes to the first who waits, so that nobody overtakes the queue.
      const next = this.queue.shift();
      if (next) next();
      else this.held--;
    };
  }

  private wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        cancel();
        signal?.removeEventListener("abort", abort);
      };
      const admit = () => {
        stopWaiting();
        resolve();
      };
      const refuse = (reason: unknown) => {
        stopWaiting();
        const index = this.queue.indexOf(admit);
        if (index >= 0) this.queue.splice(index, 1);
        reject(reason);
      };
      const abort = () => refuse(signal?.reason);
      const cancel = this.clock.after(this.timeoutMs, () =>
        refuse(busy(this.refusal, Math.ceil(this.timeoutMs / 1000))),
      );
      signal?.addEventListener("abort", abort, { once: true });
      this.queue.push(admit);
    });
  }
}
