import { LRUCache } from "lru-cache";
import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";
import type { Clock } from "../clock.js";

/** Memory of an entry besides its key and answer: objects, references, list node. */
const entryBytes = 300;
/** Memory of a source, which may be held by entries only. */
const sourceBytes = 16;

interface Entry<Answer> {
  readonly sources: readonly Source[];
  readonly answer: Answer;
  readonly bytes: number;
  readonly expiresAt: number | undefined;
  /** The change count at which the answer was last found current. */
  checkedAt: number;
}

/** What an answer depends on. */
export interface Dependencies {
  readonly sources: readonly Source[];
  /** Memory that the answer takes. */
  readonly bytes: number;
  /** Until when the answer holds, by the clock; absent = as long as the sources stay the same. */
  readonly expiresAt?: number | undefined;
}

/**
 * Public answers by raw URL. A hit is one look-up and one comparison, without any parsing. An answer is valid as long as
 * none of its sources has changed since it was last checked.
 */
export class AddressCache<Answer> {
  private readonly entries: LRUCache<string, Entry<Answer>>;

  constructor(
    private readonly count: ChangeCount,
    bytes: number,
    private readonly clock: Pick<Clock, "now">,
  ) {
    this.entries = new LRUCache({
      maxSize: Math.max(bytes, entryBytes),
      sizeCalculation: (entry) => entry.bytes,
    });
  }

  get(address: string): Answer | undefined {
    const entry = this.entries.get(address);
    if (entry === undefined) return undefined;
    if (entry.expiresAt !== undefined && entry.expiresAt <= this.clock.now()) return undefined;
    const { now } = this.count;
    if (entry.checkedAt !== now) {
      if (!unchangedSince(entry.sources, entry.checkedAt)) return undefined;
      entry.checkedAt = now;
    }
    return entry.answer;
  }

  /** Stores an answer that is current. Nothing may have been awaited since that was checked. */
  set(address: string, answer: Answer, { sources, bytes, expiresAt }: Dependencies): void {
    this.entries.set(address, {
      sources,
      answer,
      expiresAt,
      bytes: entryBytes + 2 * address.length + sourceBytes * sources.length + bytes,
      checkedAt: this.count.now,
    });
  }

  clear(): void {
    this.entries.clear();
  }

  get size(): number {
    return this.entries.size;
  }
}
