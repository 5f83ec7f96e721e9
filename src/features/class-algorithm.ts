import { equalIntervals } from "./class-breaks.js";

/** Which classes suit values that nobody has looked at: those on which a map shows what is there. */

/** The numbers that the contract gives them. */
export const algorithms = { equalIntervals: 1, quantiles: 2, naturalBreaks: 3 } as const;
export type Algorithm = (typeof algorithms)[keyof typeof algorithms];

/** Beyond it nearly all objects are in one class of natural breaks, and few far ones in the others. */
const mostSkewness = 1;
/** Of what each class would have of evenly spread values. */
const evenShare = { least: 0.5, most: 1.75 } as const;

/**
 * Classes of equal width of values that are evenly spread; quantiles of skewed ones, as of people or money; else natural breaks.
 * @param sample of the values, ascending
 */
export function suitableAlgorithm(sample: readonly number[], classes: number): Algorithm {
  const [min, max] = [sample[0], sample.at(-1)];
  if (min === undefined || max === undefined || min === max) return algorithms.quantiles;
  const fair = sample.length / classes;
  const even = countUpTo(sample, equalIntervals(min, max, classes).slice(1)).every(
    (count) => count >= fair * evenShare.least && count <= fair * evenShare.most,
  );
  if (even) return algorithms.equalIntervals;
  return Math.abs(skewness(sample)) > mostSkewness ? algorithms.quantiles : algorithms.naturalBreaks;
}

/** Least share of the values below 0, and of those above it, with which a map tells both sides apart. */
const leastOnASide = 0.1;

/** Whether values are on both sides of 0, not only a few of them on one. @param sample ascending */
export function changesSign(sample: readonly number[]): boolean {
  const below = sample.filter((value) => value < 0).length;
  const above = sample.filter((value) => value > 0).length;
  return Math.min(below, above) >= Math.max(1, sample.length * leastOnASide);
}

/** How many values each class has, by the upper ends of the classes. */
function countUpTo(sorted: readonly number[], ends: readonly number[]): number[] {
  let before = 0;
  return ends.map((end) => {
    const upTo = sorted.findLastIndex((value) => value <= end) + 1;
    const count = upTo - before;
    before = upTo;
    return count;
  });
}

/** Third standardized moment. @param values not all equal, the least first and the greatest last */
function skewness(values: readonly number[]): number {
  const [min, max] = [values[0]!, values.at(-1)!];
  // In the range's own measure, so that nothing overflows.
  const half = max / 2 - min / 2;
  const places = values.map((value) => (value / 2 - min / 2) / half);
  const mean = places.reduce((sum, place) => sum + place, 0) / places.length;
  const moment = (power: number) =>
    places.reduce((sum, place) => sum + (place - mean) ** power, 0) / places.length;
  return moment(3) / moment(2) ** 1.5;
}
