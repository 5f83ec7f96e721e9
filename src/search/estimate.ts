import { lettered } from "./phrase.js";

/** How many rows of a column are expected to hold a phrase's needles. */
export interface Estimate {
  /** Rows with all needles, and with some of those that have letters. */
  readonly all: number;
  readonly some: number;
  /** The rarest first, of equal ones the longest: an index then looks for the others only where that one is. */
  readonly needles: readonly string[];
}

/** @param counts rows with each needle, as expected; @param rows rows of the column */
export function estimateOf(needles: readonly string[], counts: readonly number[], rows: number): Estimate {
  const share = new Map(
    needles.map((needle, i) => [needle, Math.min(1, (counts[i] ?? 0) / Math.max(1, rows))]),
  );
  return {
    all: rows * needles.reduce((product, needle) => product * share.get(needle)!, 1),
    some: rows * (1 - lettered(needles).reduce((product, needle) => product * (1 - share.get(needle)!), 1)),
    needles: [...needles].sort((a, b) => share.get(a)! - share.get(b)! || b.length - a.length),
  };
}
