import { type Clock, systemClock } from "../clock.js";
import { busy, type Failure } from "../errors.js";

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
  private readonly urgent = new FairQueue();
  private readonly others = new FairQueue();
  /** Since when tasks that are not urgent wait, or when the last of them started. */
  private putOffSince = 0;
  private readonly clock: Clock;

  constructor(private readonly options: FairMutexOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /**
   * The lock, released by calling what is returned (once or more).
   * @throws Failure busy when too many tasks of that owner wait, or this one waited too long
   */
  async acquire(request: LockRequest): Promise<() => void> {
    if (this.running) await this.wait(request);
    else this.running = true;
    const begun = this.clock.now();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.queueOf(request).charge(request.owner, this.clock.now() - begun);
      const next = this.next();
      if (next) next();
      else this.running = false;
    };
  }

  private queueOf({ urgent }: LockRequest): FairQueue {
    return urgent ? this.urgent : this.others;
  }

  private next(): (() => void) | undefined {
    const now = this.clock.now();
    const putOff = this.others.length > 0 && now - this.putOffSince >= this.options.longestPutOffMs;
    if (this.urgent.length > 0 && !putOff) return this.urgent.next();
    this.putOffSince = now;
    return this.others.next();
  }

  private wait(request: LockRequest): Promise<void> {
    const { timeoutMs, maxWaiting } = this.options;
    const queue = this.queueOf(request);
    if (!request.urgent) {
      if (queue.waitingOf(request.owner) >= maxWaiting) throw this.refused();
      if (queue.length === 0) this.putOffSince = this.clock.now();
    }
    return new Promise((resolve, reject) => {
      const turn = () => {
        cancel();
        resolve();
      };
      const cancel = this.clock.after(timeoutMs, () => {
        queue.remove(request.owner, turn);
        reject(this.refused());
      });
      queue.add(request.owner, turn);
    });
  }

  private refused(): Failure {
    return busy(this.options.refusal, Math.ceil(this.options.timeoutMs / 1000));
  }
}

interface Share {
  /** In the order in which they came. */
  readonly waiting: (() => void)[];
  /** Time that the owner has used, from the same start for all. */
  usedMs: number;
}

/** Each task counts at least this much. */
const leastMs = 1;

/** Waiting tasks by owner (start-time fair queueing: P. Goyal, H. M. Vin, H. Cheng, 1996). */
class FairQueue {
  length = 0;
  private readonly shares = new Map<number, Share>();
  /** Time that the owner of the last started task had used. */
  private reachedMs = 0;

  waitingOf(owner: number): number {
    return this.shares.get(owner)?.waiting.length ?? 0;
  }

  add(owner: number, turn: () => void): void {
    const share = this.share(owner);
    // An owner gets no credit for time without tasks.
    if (share.waiting.length === 0) share.usedMs = Math.max(share.usedMs, this.reachedMs);
    share.waiting.push(turn);
    this.length++;
  }

  remove(owner: number, turn: () => void): void {
    const { waiting } = this.share(owner);
    waiting.splice(waiting.indexOf(turn), 1);
    this.length--;
  }

  /** Removes and returns the next task. */
  next(): (() => void) | undefined {
    let least: Share | undefined;
    for (const [owner, share] of this.shares) {
      if (share.waiting.length > 0) {
        if (!least || share.usedMs < least.usedMs) least = share;
      } else if (share.usedMs <= this.reachedMs) this.shares.delete(owner);
    }
    if (!least) return undefined;
    this.reachedMs = least.usedMs;
    this.length--;
    return least.waiting.shift();
  }

  /** Adds the time that a task took to its owner. */
  charge(owner: number, ms: number): void {
    if (this.length > 0) this.share(owner).usedMs += Math.max(leastMs, ms);
    else {
      // Nobody else waited: the time need not be shared.
      this.shares.clear();
      this.reachedMs = 0;
    }
  }

  private share(owner: number): Share {
    let share = this.shares.get(owner);
    if (!share) {
      share = { waiting: [], usedMs: this.reachedMs };
      this.shares.set(owner, share);
    }
    return share;
  }
}
