import { type Clock, systemClock } from "../clock.js";
import { busy, type Failure } from "../errors.js";
import { FairQueue, type Owners } from "./fair-queue.js";

export interface FairMutexOptions {
  /** Longest wait. */
  readonly timeoutMs: number;
  /** How many tasks of one owner may wait; urgent ones are not counted. */
  readonly maxWaiting: number;
  /** Longest time that urgent tasks go before others without a break. */
  readonly longestPutOffMs: number;
  /** Message of the error for those who are refused. */
  readonly refusal: string;
  readonly clock?: Clock;
}

/** Whose task it is, and how urgent. */
export interface LockRequest {
  readonly owner: number;
  /** Goes before tasks that are not urgent. Any number of them may wait. */
  readonly urgent: boolean;
}

/**
 * Lets one task run at a time. The next one is of the owner who has used the least time, so that nobody waits for all
 * tasks of another owner, be they many or long.
 */
export class FairMutex {
  private running = false;
  private readonly urgent = new FairQueue<() => void>();
  private readonly others: FairQueue<() => void>;
  /** Since when tasks that are not urgent wait, or when the last of them started. */
  private putOffSince = 0;
  private readonly clock: Clock;

  constructor(private readonly options: FairMutexOptions) {
    this.clock = options.clock ?? systemClock;
    this.others = new FairQueue({ mostOfOwner: options.maxWaiting });
  }

  /**
   * The lock, released by calling what is returned (once or more).
   * @throws Failure busy when too many tasks of that owner wait, or this one waited too long
   */
  async acquire(request: LockRequest): Promise<() => void> {
    const queue = request.urgent ? this.urgent : this.others;
    const owners = [String(request.owner)];
    if (this.running) await this.wait(request.urgent, owners);
    else {
      this.running = true;
      queue.enter(owners);
    }
    const begun = this.clock.now();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      queue.leave(owners, Math.max(leastMs, this.clock.now() - begun));
      const next = this.next();
      if (next) next();
      else this.running = false;
    };
  }

  private next(): (() => void) | undefined {
    const now = this.clock.now();
    const putOff = this.others.length > 0 && now - this.putOffSince >= this.options.longestPutOffMs;
    if (this.urgent.length > 0 && !putOff) return this.urgent.take()?.task;
    this.putOffSince = now;
    return this.others.take()?.task;
  }

  private wait(isUrgent: boolean, owners: Owners): Promise<void> {
    const { timeoutMs } = this.options;
    const queue = isUrgent ? this.urgent : this.others;
    if (!isUrgent && queue.length === 0) this.putOffSince = this.clock.now();
    return new Promise((resolve, reject) => {
      const turn = () => {
        cancel();
        resolve();
      };
      const refuse = () => reject(this.refused());
      const cancel = this.clock.after(timeoutMs, () => {
        queue.remove(owners, turn);
        refuse();
      });
      if (!queue.add(owners, turn)) return;
      cancel();
      refuse();
    });
  }

  private refused(): Failure {
    return busy(this.options.refusal, Math.ceil(this.options.timeoutMs / 1000));
  }
}

/** Each task counts at least this much. */
const leastMs = 1;
