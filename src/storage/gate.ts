import { type Clock, systemClock } from "../clock.js";
import { busy } from "../errors.js";

/** Lets a bounded number of long works run at once; others wait a while for their turn. */
export class Gate {
  private inside = 0;
  private readonly queue: (() => void)[] = [];

  constructor(
    private readonly places: number,
    private readonly patienceMs: number,
    /** What those are told for whom none became free. */
    private readonly refusal: string,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * A place, given back by calling what is returned (once or more).
   * @throws Failure busy when none became free in time; the signal's reason when it aborts meanwhile
   */
  async enter(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.inside < this.places) this.inside++;
    else await this.wait(signal);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      // The place goes to the first who waits, so that nobody overtakes the queue.
      const next = this.queue.shift();
      if (next) next();
      else this.inside--;
    };
  }

  private wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        cancel();
        signal?.removeEventListener("abort", abort);
      };
      const turn = () => {
        settle();
        resolve();
      };
      const give = (reason: unknown) => {
        settle();
        const place = this.queue.indexOf(turn);
        if (place >= 0) this.queue.splice(place, 1);
        reject(reason);
      };
      const abort = () => give(signal?.reason);
      const cancel = this.clock.after(this.patienceMs, () =>
        give(busy(this.refusal, Math.ceil(this.patienceMs / 1000))),
      );
      signal?.addEventListener("abort", abort, { once: true });
      this.queue.push(turn);
    });
  }
}
