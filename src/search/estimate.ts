import { lettered, telling } from "./phrase.js";

/** Expected number of rows that match the needles of a phrase. */
export interface Estimate {
  /** Rows with all needles, and rows with at least one of those that tell. */
  readonly all: number;
  readonly some: number;
  /**
   * Sorted by frequency, the rarest first, then the longest first: the index scan begins with the most selective one.
   */
  readonly needles: readonly string[];
}

/** @param counts expected rows with each needle; @param rows rows of the column */
export function estimateOf(needles: readonly string[], counts: readonly number[], rows: number): Estimate {
  const share = new Map(
    needles.map((needle, i) => [needle, Math.min(1, (counts[i] ?? 0) / Math.max(1, rows))]),
  );
  return {
    all: rows * needles.reduce((product, needle) => product * share.get(needle)!, 1),
    some:
      rows *
      (1 - lettered(telling(needles)).reduce((product, needle) => product * (1 - share.get(needle)!), 1)),
    needles: [...needles].sort((a, b) => share.get(a)! - share.get(b)! || b.length - a.length),
  };
}
