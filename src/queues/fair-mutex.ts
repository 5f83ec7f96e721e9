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
  /** After that time a task of another owner runs beside one. */
  readonly besideMs: number;
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

/** A task that has the lock. */
interface Held {
  readonly owner: string;
  /** A task of another owner may run beside it. */
  isLong: boolean;
}

type Release = () => void;
type Waiter = (release: Release) => void;

/**
 * Lets one task run at a time. The next one is of the owner who has used the least time, so that nobody waits for all
 * tasks of another owner, be they many or long. Beside one that takes longer than `besideMs`, one of another owner runs.
 */
export class FairMutex {
  private readonly held = new Set<Held>();
  private readonly urgent = new FairQueue<Waiter>();
  private readonly others: FairQueue<Waiter>;
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
  async acquire(request: LockRequest): Promise<Release> {
    const queue = request.urgent ? this.urgent : this.others;
    const owners = [String(request.owner)];
    if (!this.mayStart(owners[0]!)) return this.wait(request.urgent, owners);
    queue.enter(owners);
    return this.start(queue, owners);
  }

  private readonly mayStart = (owner: string): boolean => {
    const [first] = this.held;
    return !first || (this.held.size === 1 && first.isLong && first.owner !== owner);
  };

  private start(queue: FairQueue<Waiter>, owners: Owners): Release {
    const begun = this.clock.now();
    const held: Held = { owner: owners[0]!, isLong: false };
    this.held.add(held);
    const cancel = this.clock.after(this.options.besideMs, () => {
      held.isLong = true;
      this.startNext();
    });
    return () => {
      if (!this.held.delete(held)) return;
      cancel();
      queue.leave(owners, Math.max(leastMs, this.clock.now() - begun));
      this.startNext();
    };
  }

  private startNext(): void {
    const now = this.clock.now();
    const putOff = this.others.length > 0 && now - this.putOffSince >= this.options.longestPutOffMs;
    for (const queue of putOff ? [this.others, this.urgent] : [this.urgent, this.others]) {
      const next = queue.take(this.mayStart);
      if (!next) continue;
      if (queue === this.others) this.putOffSince = now;
      next.task(this.start(queue, next.owners));
      return;
    }
  }

  private wait(isUrgent: boolean, owners: Owners): Promise<Release> {
    const { timeoutMs } = this.options;
    const queue = isUrgent ? this.urgent : this.others;
    if (!isUrgent && queue.length === 0) this.putOffSince = this.clock.now();
    return new Promise((resolve, reject) => {
      const waiter = (release: Release) => {
        cancel();
        resolve(release);
      };
      const refuse = () => reject(this.refused());
      const cancel = this.clock.after(timeoutMs, () => {
        queue.remove(owners, waiter);
        refuse();
      });
      if (!queue.add(owners, waiter)) return;
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
