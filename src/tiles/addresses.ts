import { LRUCache } from "lru-cache";
import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";

/** What an entry takes beside its own: key object, references, list node. */
const overheadBytes = 300;
/** A source may be held by entries alone. */
const sourceBytes = 16;

interface Entry<Answer> {
  readonly sources: readonly Source[];
  readonly answer: Answer;
  readonly bytes: number;
  /** The count at which the answer was found to be right. */
  checkedAt: number;
}

/** What an answer was made from, and when it was right. */
export interface Checked {
  readonly sources: readonly Source[];
  /** Memory that the answer takes. */
  readonly bytes: number;
}

/**
 * Public answers by their raw address: a hit is one look-up and one comparison, without any parsing. An answer counts as
 * long as nothing that it was made from has changed since it was checked last.
 */
export class AddressCache<Answer> {
  private readonly entries: LRUCache<string, Entry<Answer>>;

  constructor(
    private readonly count: ChangeCount,
    bytes: number,
  ) {
    this.entries = new LRUCache({
      maxSize: Math.max(bytes, overheadBytes),
      sizeCalculation: (entry) => entry.bytes,
    });
  }

  get(address: string): Answer | undefined {
    const entry = this.entries.get(address);
    if (entry === undefined) return undefined;
    const { now } = this.count;
    if (entry.checkedAt !== now) {
      if (!unchangedSince(entry.sources, entry.checkedAt)) return undefined;
      entry.checkedAt = now;
    }
    return entry.answer;
  }

  /** Keeps an answer that is right at this moment: nothing may have been awaited since that was found. */
  set(address: string, answer: Answer, { sources, bytes }: Checked): void {
    this.entries.set(address, {
      sources,
      answer,
      bytes: overheadBytes + 2 * address.length + sourceBytes * sources.length + bytes,
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
