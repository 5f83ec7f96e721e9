import { type Clock, systemClock } from "../clock.js";
import { busy } from "../errors.js";
import { FairQueue, type FairQueueOptions, type Owners } from "./fair-queue.js";

export interface FairSemaphoreOptions extends FairQueueOptions {
  /** Holders at once. */
  readonly permits: number;
  /** How many of the permits an outermost owner gets only if it holds none, so that others need not wait at all; default 0. */
  readonly kept?: number;
  /** How many an outermost owner may hold, whatever is free; default: all. */
  readonly mostOfOne?: number;
  /** How many an owner within one, the second that a request names, may hold in all; default: all. */
  readonly mostOfNext?: number;
  /** How many may wait in all. */
  readonly mostWaiting: number;
  /** Longest wait. */
  readonly timeoutMs: number;
  /** Message of the error for those who are refused. */
  readonly refusal: string;
  /** When they may ask again; default: after the longest wait. */
  readonly retrySeconds?: number;
  readonly clock?: Clock;
}

export interface PermitRequest {
  /** From the outermost to the innermost, as for `FairQueue`; always as many. */
  readonly owners: Owners;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

interface Waiter {
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** Each task counts at least this much. */
const leastMs = 1;

/**
 * Counting semaphore that is fair: an owner alone has all permits (but those `kept`, or beyond `mostOfOne`), and one with others as many as they, by
 * number and by time. When too many wait, the last of the owner with most waiting is refused, be it new or not.
 *
 * ```
 * const semaphore = new FairSemaphore({ permits: 4, kept: 1, mostWaiting: 256, timeoutMs: 10_000, refusal: "…" });
 * const release = await semaphore.acquire({ owners: [`p${project.id}`, client], signal });
 * ```
 */
export class FairSemaphore {
  private free: number;
  private readonly queue: FairQueue<Waiter>;
  private readonly clock: Clock;
  /** Permits of the second owners, where that is limited. */
  private readonly heldByNext = new Map<string, number>();

  constructor(private readonly options: FairSemaphoreOptions) {
    this.free = options.permits;
    this.queue = new FairQueue(options);
    this.clock = options.clock ?? systemClock;
  }

  /** Permits that are held. */
  get held(): number {
    return this.options.permits - this.free;
  }

  get waiting(): number {
    return this.queue.length;
  }

  /**
   * A permit, released by calling what is returned (once or more).
   * @throws Failure busy when too many wait, or none became free in time; the signal's reason when it aborts
   */
  async acquire(request: PermitRequest): Promise<() => void> {
    const { owners, signal } = request;
    signal?.throwIfAborted();
    if (this.free > 0 && this.mayEnter(owners[0]!) && this.mayWithin(owners[1] ?? "")) {
      this.hold(owners, 1);
      this.queue.enter(owners);
    } else await this.wait(request);
    const begun = this.clock.now();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.queue.leave(owners, Math.max(leastMs, this.clock.now() - begun));
      this.hold(owners, -1);
      this.admitNext();
    };
  }

  private hold([, next = ""]: Owners, change: 1 | -1): void {
    this.free -= change;
    if (this.options.mostOfNext === undefined) return;
    const held = (this.heldByNext.get(next) ?? 0) + change;
    if (held > 0) this.heldByNext.set(next, held);
    else this.heldByNext.delete(next);
  }

  private readonly mayWithin = (owner: string): boolean =>
    (this.heldByNext.get(owner) ?? 0) < (this.options.mostOfNext ?? Number.POSITIVE_INFINITY);

  private readonly mayEnter = (owner: string): boolean => {
    const { kept = 0, mostOfOne = Number.POSITIVE_INFINITY } = this.options;
    const held = this.queue.heldBy(owner);
    return held === 0 || (this.free > kept && held < mostOfOne);
  };

  private admitNext(): void {
    while (this.free > 0) {
      const next = this.queue.take(this.mayEnter, this.mayWithin);
      if (!next) return;
      // The permit is taken here, so that nobody overtakes the one who waited.
      this.hold(next.owners, 1);
      next.task.admit();
    }
  }

  private wait({ owners, signal }: PermitRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        cancel();
        signal?.removeEventListener("abort", abort);
      };
      const waiter: Waiter = {
        admit: () => {
          stopWaiting();
          resolve();
        },
        refuse: (reason) => {
          stopWaiting();
          this.queue.remove(owners, waiter);
          reject(reason);
        },
      };
      const abort = () => waiter.refuse(signal?.reason);
      const cancel = this.clock.after(this.options.timeoutMs, () => waiter.refuse(this.overloaded()));
      signal?.addEventListener("abort", abort, { once: true });
      this.queue.add(owners, waiter)?.refuse(this.overloaded());
    });
  }

  private overloaded() {
    const { refusal, timeoutMs, retrySeconds = Math.ceil(timeoutMs / 1000) } = this.options;
    return busy(refusal, retrySeconds);
  }
}
