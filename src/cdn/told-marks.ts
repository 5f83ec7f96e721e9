import { LRUCache } from "lru-cache";
import type { CdnState } from "../changes/notification.js";
import type { Clock } from "../clock.js";

/**
 * Waits, after an edit, until the CDN has dropped what the edit has made old. The node that tells the CDN acknowledges the
 * marks of transactions when it has told all that was announced before them. Nobody waits for long, and nobody at all while
 * the CDN is known to be slow or away.
 */

/** Longest wait of an edit. */
const longestWaitMs = 250;
/** Marks of this node that were told, or are awaited by nobody yet. */
const mostKept = 10_000;

export class ToldMarks {
  /** Marks that were told of, by their receipts. */
  private readonly told = new LRUCache<string, CdnState>({ max: mostKept });
  private readonly waiting = new Map<string, Set<(state: CdnState) => void>>();
  /** When edits were ready that did not wait, by their receipts: whether it would be worth while. */
  private readonly unwaited = new LRUCache<string, number>({ max: mostKept });
  private isQuick = true;

  /** @param isWaitedFor whether edits wait at all */
  constructor(
    readonly isWaitedFor: boolean,
    private readonly clock: Clock,
  ) {}

  /** The CDN was told of all that this node had committed before these marks, or could not be. */
  acknowledged(state: CdnState, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      this.told.set(receipt, state);
      const since = this.unwaited.get(receipt);
      if (since !== undefined && state === "purged" && this.clock.now() - since <= longestWaitMs)
        this.isQuick = true;
      this.unwaited.delete(receipt);
      for (const end of [...(this.waiting.get(receipt) ?? [])]) end(state);
    }
  }

  /** In another history of the database other transactions get the same receipts. */
  forget(): void {
    this.told.clear();
    this.unwaited.clear();
  }

  /**
   * Resolves when the CDN was told of what was committed before this mark, or after a short while.
   * @param receipt as `Changes.propagate` returns it; undefined = nobody knows
   */
  async wait(receipt: string | undefined): Promise<CdnState> {
    if (receipt === undefined) return "pending";
    const known = this.told.get(receipt);
    if (known !== undefined) return known;
    if (!this.isQuick) {
      this.unwaited.set(receipt, this.clock.now());
      return "pending";
    }
    return new Promise((resolve) => {
      const ends = this.waiting.get(receipt) ?? new Set();
      this.waiting.set(receipt, ends);
      const end = (state: CdnState) => {
        cancel();
        ends.delete(end);
        if (ends.size === 0) this.waiting.delete(receipt);
        resolve(state);
      };
      const cancel = this.clock.after(longestWaitMs, () => {
        this.isQuick = false;
        end("pending");
      });
      ends.add(end);
    });
  }
}
