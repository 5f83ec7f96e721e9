import { type Rounding, roundBorder, slackOf } from "../visual/round-breaks.js";

/**
 * Class breaks in ascending order, one more than there are classes. A class is the interval (lower, upper]; the first class
 * includes its lower break too, so the first two breaks are equal when it has one value. With fewer distinct values than
 * classes there are fewer classes.
 */
export type ClassBreaks = readonly number[];

/** Breaks of classes of equal width from `min` to `max`. */
export function equalIntervals(min: number, max: number, classes: number): ClassBreaks {
  if (min === max) return [min, max];
  const width = max - min;
  const at = (part: number) =>
    // The width may overflow to infinity.
    Number.isFinite(width) ? min + width * part : min * (1 - part) + max * part;
  return [min, ...Array.from({ length: classes - 1 }, (_, i) => at((i + 1) / classes)), max];
}

/** Ranks (from 1) of the upper ends of classes that have the same number of `total` sorted values. */
export const quantileRanks = (total: number, classes: number): number[] =>
  Array.from({ length: classes }, (_, i) => Math.ceil(((i + 1) * total) / classes));

/** Breaks from the minimum and the ascending upper ends of the classes; equal ends count once. */
export const breaksAt = (min: number, ends: readonly number[]): ClassBreaks => [
  min,
  ...ends.filter((end, i) => i === 0 || end !== ends[i - 1]),
];

/** How many of the classes are up to 0, with about as many values in each; undefined = 0 is no border. */
export const classesUpToZero = (total: number, upToZero: number, classes: number): number | undefined =>
  upToZero > 0 && upToZero < total && classes > 1
    ? Math.min(classes - 1, Math.max(1, Math.round((classes * upToZero) / total)))
    : undefined;

/**
 * Breaks of classes with about as many values each.
 * @param round how breaks are made round, which may move them a little; without it they are values
 * @param upToZero how many values are at most 0, where 0 is to be a break
 */
export async function quantileBreaks(
  values: {
    readonly min: number;
    readonly max: number;
    readonly total: number;
    /** Values at these ranks (from 1), in their order. */
    readonly valuesAt: (ranks: readonly number[]) => Promise<number[]>;
  },
  {
    classes,
    round,
    upToZero = 0,
  }: {
    readonly classes: number;
    readonly round: Rounding | undefined;
    readonly upToZero?: number | undefined;
  },
): Promise<ClassBreaks> {
  const { min, max, total } = values;
  const below = classesUpToZero(total, upToZero, classes);
  const parts =
    below === undefined
      ? [{ before: 0, count: total, classes }]
      : [
          { before: 0, count: upToZero, classes: below },
          { before: upToZero, count: total - upToZero, classes: classes - below },
        ];
  const inner = parts.flatMap((part) =>
    quantileRanks(part.count, part.classes)
      .slice(0, -1)
      .map((rank) => ({
        rank: part.before + rank,
        slack: round ? slackOf(part.count / part.classes) : 0,
      })),
  );
  const around = inner.flatMap(({ rank, slack }) => [
    Math.max(1, rank - slack),
    rank,
    Math.min(total, rank + slack + 1),
  ]);
  const found = await values.valuesAt(round ? around : inner.map(({ rank }) => rank));
  const ends = inner.map((_, at) => {
    if (!round) return found[at]!;
    const place = { from: found[3 * at]!, to: found[3 * at + 2]! };
    return roundBorder(found[3 * at + 1]!, place, at === 0 ? min : found[3 * at - 2]!, round);
  });
  if (below !== undefined) ends.splice(below - 1, 0, 0);
  return breaksAt(min, [...ends, max]);
}

/** Distinct values in ascending order, with the number of times each occurs. */
interface Distinct {
  readonly values: readonly number[];
  readonly counts: readonly number[];
}

function countDistinct(sorted: readonly number[]): Distinct {
  const values: number[] = [];
  const counts: number[] = [];
  for (const value of sorted) {
    if (values.at(-1) === value) counts[counts.length - 1]!++;
    else {
      values.push(value);
      counts.push(1);
    }
  }
  return { values, counts };
}

/**
 * Natural breaks (Jenks): the classes with the smallest sum of squared deviations from their means. Found by dynamic
 * programming with divide and conquer: with more values the best last break never moves down (Wang and Song,
 * Ckmeans.1d.dp, The R Journal 3/2, 2011). Time grows with classes · n · log n.
 * @param sorted ascending, 1 to a few thousand values
 */
export function naturalBreaks(sorted: readonly number[], classes: number): ClassBreaks {
  const { values, counts } = countDistinct(sorted);
  const min = values[0]!;
  if (classes >= values.length) return breaksAt(min, values);
  const deviation = squaredDeviations(values, counts);
  const n = values.length;
  let costs = Float64Array.from({ length: n }, (_, to) => deviation(0, to));
  /** cuts[c - 1][to]: index of the first value of class c (from 0) when its last value is `to`. */
  const cuts: Uint32Array[] = [];
  for (let c = 1; c < classes; c++) {
    const previous = costs;
    const current = new Float64Array(n);
    const cut = new Uint32Array(n);
    const fill = (from: number, to: number, lowest: number, highest: number): void => {
      if (from > to) return;
      const middle = (from + to) >> 1;
      let best = Number.POSITIVE_INFINITY;
      let at = Math.max(lowest, c);
      for (let start = at; start <= Math.min(highest, middle); start++) {
        const cost = previous[start - 1]! + deviation(start, middle);
        if (cost >= best) continue;
        best = cost;
        at = start;
      }
      current[middle] = best;
      cut[middle] = at;
      fill(from, middle - 1, lowest, at);
      fill(middle + 1, to, at, highest);
    };
    fill(c, n - 1, c, n - 1);
    costs = current;
    cuts.push(cut);
  }
  const ends = [values[n - 1]!];
  for (let c = classes - 1, to = n - 1; c > 0; c--) {
    to = cuts[c - 1]![to]! - 1;
    ends.push(values[to]!);
  }
  return breaksAt(min, ends.reverse());
}

/** A function that returns the sum of squared deviations from the mean for the values of an index range, both ends included. */
function squaredDeviations(
  values: readonly number[],
  counts: readonly number[],
): (from: number, to: number) => number {
  // Scaled and shifted to around 0, so that squares do not overflow and differences of sums keep their precision.
  const scale = Math.max(Math.abs(values[0]!), Math.abs(values.at(-1)!)) || 1;
  const origin = values[values.length >> 1]! / scale;
  const [totals, sums, squares] = [0, 1, 2].map(() => new Float64Array(values.length + 1)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  values.forEach((value, i) => {
    const x = value / scale - origin;
    totals[i + 1] = totals[i]! + counts[i]!;
    sums[i + 1] = sums[i]! + counts[i]! * x;
    squares[i + 1] = squares[i]! + counts[i]! * x * x;
  });
  return (from, to) => {
    const sum = sums[to + 1]! - sums[from]!;
    const square = squares[to + 1]! - squares[from]!;
    return Math.max(0, square - (sum * sum) / (totals[to + 1]! - totals[from]!));
  };
}
