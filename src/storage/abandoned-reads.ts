import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../clock.js";
import { busy } from "../errors.js";
import { siteOf } from "../queues/clients.js";
import { isOfMany, type Purpose } from "./connection-slots.js";

/**
 * Reads that clients left before the answer. Their statements are cancelled, but a client that asks and leaves again and again
 * keeps the processors of the database busy all the same, with no more slots than others have: measured on 2 cores, 8 such reads
 * at once took what others' logins needed. So a client that has left much waits before its next read, as if the last one were
 * still running.
 */

/** Ms of reads that a client may leave, as users do who type a search, or go back before a page is there. */
const freeMs = 3_000;
/** How much of `freeMs` comes back in each ms. */
const backPerMs = 0.1;
/** Ms of reads beyond `freeMs` that are remembered. */
const mostOwedMs = 3_000;
/** Longest wait. Not longer than for a slot, so that nobody is refused for it. */
const longestWaitMs = 4_000;
/** Reads of one client that may wait. */
const mostWaiting = 100;
/** Clients that are remembered; beyond it, the client that left a read longest ago is forgotten. */
const mostKnown = 10_000;

interface Account {
  /** Ms of reads that the client may leave; less than 0 = it waits. */
  readonly left: number;
  /** When that was so, by the clock. */
  readonly at: number;
}

export class AbandonedReads {
  private readonly accounts = new LRUCache<string, Account>({ max: mostKnown });
  private readonly waits = new Map<string, number>();
  private readonly purposes = new Map<Purpose, number>();

  constructor(private readonly clock: Clock = systemClock) {}

  /** Reads that wait. */
  waiting(purpose: Purpose): number {
    return this.purposes.get(purpose) ?? 0;
  }

  /** The client has left a read on which the database worked for that long. */
  note(client: string, ms: number): void {
    // A work of the server for many clients: one client that leaves would make all others wait.
    if (client === "" || isOfMany(client)) return;
    const left = Math.max(-mostOwedMs, this.leftOf(client) - ms);
    this.accounts.set(siteOf(client), { left, at: this.clock.now() });
  }

  /** Whether the client has to wait before it reads. */
  owes(client: string): boolean {
    return this.accounts.size > 0 && this.leftOf(client) < 0;
  }

  /**
   * Resolves when the client may read.
   * @throws Failure busy when too many of its reads wait; the signal's reason when it aborts
   */
  async wait(purpose: Purpose, client: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const before = this.waits.get(client) ?? 0;
    const ms = Math.min(longestWaitMs, -this.leftOf(client) / backPerMs);
    if (before >= mostWaiting)
      throw busy("You have left too many reads before their answers.", Math.ceil(ms / 1_000));
    this.waits.set(client, before + 1);
    this.purposes.set(purpose, this.waiting(purpose) + 1);
    try {
      await new Promise<void>((resolve, reject) => {
        const done = () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        const cancel = this.clock.after(ms, done);
        const abort = () => {
          cancel();
          reject(signal?.reason as Error);
        };
        signal?.addEventListener("abort", abort, { once: true });
      });
    } finally {
      const waiting = this.waits.get(client)! - 1;
      if (waiting === 0) this.waits.delete(client);
      else this.waits.set(client, waiting);
      this.purposes.set(purpose, this.waiting(purpose) - 1);
    }
  }

  private leftOf(client: string): number {
    const account = this.accounts.get(siteOf(client));
    if (!account) return freeMs;
    return Math.min(freeMs, account.left + backPerMs * (this.clock.now() - account.at));
  }
}
