import { type Clock, systemClock } from "../clock.js";
import { busy, type Failure } from "../errors.js";

export interface FairMutexOptions {
  /** So long anyone waits. */
  readonly timeoutMs: number;
  /** Works of one owner that may wait, but for urgent ones. */
  readonly maxWaiting: number;
  /** Urgent works put the others off for so long at a time. */
  readonly longestPutOffMs: number;
  /** What those are told who are not let in. */
  readonly refusal: string;
  readonly clock?: Clock;
}

/** Whose work it is. */
export interface LockRequest {
  readonly owner: number;
  /** It goes before works that are not, and may wait in any number. */
  readonly urgent: boolean;
}

/**
 * Lets one work run at a time. Of those who wait the next is the one whose owner had the least time: nobody waits for
 * all that another one asks for at once, whether that is many works or long ones.
 */
export class FairMutex {
  private running = false;
  private readonly urgent = new Line();
  private readonly others = new Line();
  /** Since when works wait that are not urgent, or the last of them went. */
  private putOffSince = 0;
  private readonly clock: Clock;

  constructor(private readonly options: FairMutexOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /**
   * The lock, released by calling what is returned (once or more).
   * @throws Failure busy when too many works of that owner wait, or this one waited too long
   */
  async acquire(claim: LockRequest): Promise<() => void> {
    if (this.running) await this.wait(claim);
    else this.running = true;
    const begun = this.clock.now();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.lineOf(claim).charge(claim.owner, this.clock.now() - begun);
      const next = this.next();
      if (next) next();
      else this.running = false;
    };
  }

  private lineOf({ urgent }: LockRequest): Line {
    return urgent ? this.urgent : this.others;
  }

  private next(): (() => void) | undefined {
    const now = this.clock.now();
    const putOff = this.others.length > 0 && now - this.putOffSince >= this.options.longestPutOffMs;
    if (this.urgent.length > 0 && !putOff) return this.urgent.next();
    this.putOffSince = now;
    return this.others.next();
  }

  private wait(claim: LockRequest): Promise<void> {
    const { timeoutMs, maxWaiting } = this.options;
    const line = this.lineOf(claim);
    if (!claim.urgent) {
      if (line.waitingOf(claim.owner) >= maxWaiting) throw this.refused();
      if (line.length === 0) this.putOffSince = this.clock.now();
    }
    return new Promise((resolve, reject) => {
      const turn = () => {
        cancel();
        resolve();
      };
      const cancel = this.clock.after(timeoutMs, () => {
        line.remove(claim.owner, turn);
        reject(this.refused());
      });
      line.add(claim.owner, turn);
    });
  }

  private refused(): Failure {
    return busy(this.options.refusal, Math.ceil(this.options.timeoutMs / 1000));
  }
}

interface Share {
  /** In the order in which they came. */
  readonly waiting: (() => void)[];
  /** Time that the owner had, from the same start for all. */
  usedMs: number;
}

/** Even a work that takes no time is a turn. */
const leastMs = 1;

/** Who waits, by owner (start-time fair queueing: P. Goyal, H. M. Vin, H. Cheng, 1996). */
class Line {
  length = 0;
  private readonly shares = new Map<number, Share>();
  /** What the owner who was last let in had used. */
  private reachedMs = 0;

  waitingOf(owner: number): number {
    return this.shares.get(owner)?.waiting.length ?? 0;
  }

  add(owner: number, turn: () => void): void {
    const share = this.share(owner);
    // Nobody saves up time by asking for none.
    if (share.waiting.length === 0) share.usedMs = Math.max(share.usedMs, this.reachedMs);
    share.waiting.push(turn);
    this.length++;
  }

  remove(owner: number, turn: () => void): void {
    const { waiting } = this.share(owner);
    waiting.splice(waiting.indexOf(turn), 1);
    this.length--;
  }

  /** Takes out whose turn it is. */
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

  /** Counts what a work of the owner took. */
  charge(owner: number, ms: number): void {
    if (this.length > 0) this.share(owner).usedMs += Math.max(leastMs, ms);
    else {
      // Nobody is there with whom the time would have been shared.
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
