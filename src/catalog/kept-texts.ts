import { LRUCache } from "lru-cache";
import { ObjectNumbers } from "../object-numbers.js";

/** Answers as JSON that are made of snapshots alone: asked for again, they cost no more than a file. */

/** Bytes of all texts that a node keeps, and of one of them. */
const cacheBytes = 32 * 1024 ** 2;
const mostBytes = 8 * 1024 ** 2;
/** What is known of each beside its text. */
const entryBytes = 500;

export interface KeptText {
  /** UTF-8. */
  readonly body: Buffer;
  /** Set by who needs it first. */
  etag?: string;
}

export interface TextSource {
  /** What it is made of: objects that never change. */
  readonly of: readonly object[];
  /** What else it depends on. */
  readonly by: readonly unknown[];
}

export class KeptTexts {
  private readonly known = new LRUCache<string, KeptText>({
    maxSize: cacheBytes,
    maxEntrySize: mostBytes,
    sizeCalculation: ({ body }, key) => body.length + 2 * key.length + entryBytes,
  });
  private readonly making = new Map<string, Promise<KeptText>>();
  private readonly numbers = new ObjectNumbers();

  /** @param make called when it is not known and nobody makes it */
  async of({ of, by }: TextSource, make: () => Promise<string> | string): Promise<KeptText> {
    const key = JSON.stringify([of.map((one) => this.numbers.of(one)), by]);
    const known = this.known.get(key) ?? this.making.get(key);
    if (known) return known;
    const made = this.make(key, make).finally(() => this.making.delete(key));
    this.making.set(key, made);
    return made;
  }

  private async make(key: string, make: () => Promise<string> | string): Promise<KeptText> {
    const made: KeptText = { body: Buffer.from(await make()) };
    this.known.set(key, made);
    return made;
  }
}
