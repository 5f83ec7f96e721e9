import { systemClock } from "../clock.js";
import { BatchedReads } from "./batched-reads.js";

/** A statement that finds rows by their keys: `$1` is an array of them, and each row has its key as `k`. */
export interface Lookup {
  readonly text: string;
  /** Values for `$2` and on. */
  readonly values: readonly unknown[];
}

/** Keys of one statement: a long one would keep those waiting who asked first. */
const maxKeys = 32;

type Rows = BatchedReads<number, object | undefined>;

/**
 * Rows by their keys: all those of one lookup and one turn of the event loop are read by one statement. A statement of
 * its own for each costs two system calls and a round trip to the server, more than the rest of its request.
 */
export class Lookups {
  private readonly batches = new WeakMap<Lookup, Rows>();

  constructor(private readonly query: (text: string, values: readonly unknown[]) => Promise<object[]>) {}

  /** The row with that key, as it is after this call; calls share a statement when `lookup` is the same object. */
  find(lookup: Lookup, key: number): Promise<object | undefined> {
    let rows = this.batches.get(lookup);
    if (!rows) {
      rows = new BatchedReads({
        read: (keys) => this.read(lookup, keys),
        maxKeys,
        turn: systemClock.turn,
        retriesAlone: isOfOneRow,
      });
      this.batches.set(lookup, rows);
    }
    return rows.get(key);
  }

  private async read(lookup: Lookup, keys: readonly number[]): Promise<(object | undefined)[]> {
    const found = await this.query(lookup.text, [keys, ...lookup.values]);
    const rows = new Map((found as { k: number }[]).map((row) => [row.k, row]));
    return keys.map((key) => rows.get(key));
  }
}

/** Whether one row may be the reason. A statement that takes too long would otherwise take a connection for each key. */
function isOfOneRow(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code !== "57014" && code !== "busy";
}
