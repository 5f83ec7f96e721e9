/** Statistics of a few values about whose distribution nothing is known. */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** The middle value; of an even number the mean of the two in the middle. @throws Error when there is none */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half];
  if (upper === undefined) throw new Error("There is no median of nothing.");
  return sorted.length % 2 === 1 ? upper : (sorted[half - 1]! + upper) / 2;
}

/** How often the interval of a median may miss it. */
const missed = 0.05;

/**
 * Where the median of all values that could be measured lies, with a certainty of 95 % at each look: from the kth smallest of these
 * values to the kth largest, for the greatest k that is certain enough (the interval of the sign test). Values that are
 * far off widen it no more than near ones do.
 * @returns undefined for fewer than six values, of which not even the smallest and the largest are certain enough
 */
export function medianInterval(values: readonly number[]): Interval | undefined {
  const count = values.length;
  const sorted = [...values].sort((one, other) => one - other);
  // Each value lies below the median as often as a coin shows heads.
  let exactly = 2 ** -count;
  let atMost = exactly;
  let k = 0;
  while (k < count && 2 * atMost <= missed) {
    exactly *= (count - k) / (k + 1);
    atMost += exactly;
    k++;
  }
  return k === 0 ? undefined : { low: sorted[k - 1]!, high: sorted[count - k]! };
}
