import { LRUCache } from "lru-cache";
import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";
import type { Clock } from "../clock.js";
import type { TileAddress } from "./address.js";

/** Memory of an entry besides its key and answer: objects, references, list node. */
const entryBytes = 500;
/** Answers that were found so often are likely to be asked for again. */
const hotHits = 2;
/** Answers that were found so often are packed: packing takes as long as some hundred answers. */
const packedHits = 16;
/** Answers that are looked at for one to pack: that takes some tenth of a millisecond. */
const maxScanned = 2_000;
/** Memory of a source, which may be held by entries only. */
const sourceBytes = 16;

interface Entry<Answer> {
  readonly sources: readonly Source[];
  readonly answer: Answer;
  readonly bytes: number;
  readonly expiresAt: number | undefined;
  readonly tile: AddressedTile | undefined;
  /** The change count at which the answer was last found current. */
  checkedAt: number;
  /** How often it was found. */
  hits: number;
  /** The hits at which its tile is to be packed. */
  packAt: number;
}

/** The tile that a raw URL stands for. */
export interface AddressedTile {
  readonly project: string;
  readonly map: string;
  readonly address: TileAddress;
}

/** A cached answer that is found often. */
export interface HotAnswer<Answer> {
  /** The raw URL. */
  readonly url: string;
  readonly answer: Answer;
  readonly tile: AddressedTile;
}

/** What an answer depends on. */
export interface Dependencies {
  /** The tile to be drawn again when it is outdated; undefined = none. */
  readonly tile: AddressedTile | undefined;
  /** Whether the tile may be packed more closely when the answer is found often. */
  readonly isPackable?: boolean;
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
    entry.hits++;
    return entry.answer;
  }

  /** Stores an answer that is current. Nothing may have been awaited since that was checked. */
  set(address: string, answer: Answer, { tile, isPackable, sources, bytes, expiresAt }: Dependencies): void {
    this.entries.set(address, {
      tile,
      hits: 0,
      packAt: isPackable ? packedHits : Number.POSITIVE_INFINITY,
      sources,
      answer,
      expiresAt,
      bytes: entryBytes + 2 * address.length + sourceBytes * sources.length + bytes,
      checkedAt: this.count.now,
    });
  }

  /**
   * Tiles whose answer was found several times and is outdated since, each once. Only answers that were used lately are
   * looked at.
   */
  takeOutdated(most: number): AddressedTile[] {
    const found: AddressedTile[] = [];
    let scanned = 0;
    for (const entry of this.entries.values()) {
      if (found.length === most || ++scanned > maxScanned) break;
      if (!entry.tile || entry.hits < hotHits || unchangedSince(entry.sources, entry.checkedAt)) continue;
      entry.hits = 0;
      found.push(entry.tile);
    }
    return found;
  }

  /** An answer used lately whose tile is to be packed. The same answer is not taken again before it was found twice as often. */
  takeHot(): HotAnswer<Answer> | undefined {
    let scanned = 0;
    for (const [url, entry] of this.entries.entries()) {
      if (++scanned > maxScanned) return undefined;
      if (!entry.tile || entry.hits < entry.packAt || !unchangedSince(entry.sources, entry.checkedAt))
        continue;
      entry.packAt = 2 * entry.hits;
      return { url, answer: entry.answer, tile: entry.tile };
    }
    return undefined;
  }

  /** Removes the answer, if it is still there. */
  drop({ url, answer }: Pick<HotAnswer<Answer>, "url" | "answer">): void {
    if (this.entries.peek(url)?.answer === answer) this.entries.delete(url);
  }

  clear(): void {
    this.entries.clear();
  }
}
