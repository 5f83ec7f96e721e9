/**
 * Borders of classes, in ascending order: one more than there are classes. A class holds what is above its lower
 * border up to its upper one, the first its lower border too, so the first two are equal where it holds one value.
 * Where the values are too few for the classes wanted, there are fewer.
 */
export type Borders = readonly number[];

/** Classes of equal width from `least` to `greatest`. */
export function equalIntervals(least: number, greatest: number, classes: number): Borders {
  if (least === greatest) return [least, greatest];
  const width = greatest - least;
  const at = (part: number) =>
    // The distance of the two ends may be beyond any number.
    Number.isFinite(width) ? least + width * part : least * (1 - part) + greatest * part;
  return [least, ...Array.from({ length: classes - 1 }, (_, i) => at((i + 1) / classes)), greatest];
}

/** Places, from 1, of the upper ends of classes with equally many of `total` values in their order. */
export const quantilePlaces = (total: number, classes: number): number[] =>
  Array.from({ length: classes }, (_, i) => Math.ceil(((i + 1) * total) / classes));

/** Borders from the least value and the upper ends of the classes, ascending; ends that are equal are one. */
export const bordersAt = (least: number, ends: readonly number[]): Borders => [
  least,
  ...ends.filter((end, i) => i === 0 || end !== ends[i - 1]),
];

/** Values that differ, with how often each is there. */
interface Weighted {
  readonly values: readonly number[];
  readonly weights: readonly number[];
}

function weighted(sorted: readonly number[]): Weighted {
  const values: number[] = [];
  const weights: number[] = [];
  for (const value of sorted) {
    if (values.at(-1) === value) weights[weights.length - 1]!++;
    else {
      values.push(value);
      weights.push(1);
    }
  }
  return { values, weights };
}

/**
 * Natural breaks (Jenks): of all ways to cut the values into classes, the one with the least sum of squared
 * distances from the classes' means. Found by dynamic programming, where the best cut of a longer row of values never
 * lies before that of a shorter one (Wang and Song, Ckmeans.1d.dp, The R Journal 3/2, 2011): time grows with
 * classes · n · log n.
 * @param sorted ascending, at least one; some thousands at most
 */
export function naturalBreaks(sorted: readonly number[], classes: number): Borders {
  const { values, weights } = weighted(sorted);
  const least = values[0]!;
  if (classes >= values.length) return bordersAt(least, values);
  const spread = spreads(values, weights);
  const n = values.length;
  let costs = Float64Array.from({ length: n }, (_, to) => spread(0, to));
  /** cuts[c][to]: where class c + 1 begins when it ends with value `to`. */
  const cuts: Uint32Array[] = [];
  for (let c = 1; c < classes; c++) {
    const before = costs;
    const now = new Float64Array(n);
    const cut = new Uint32Array(n);
    const fill = (from: number, to: number, lowest: number, highest: number): void => {
      if (from > to) return;
      const middle = (from + to) >> 1;
      let best = Number.POSITIVE_INFINITY;
      let at = Math.max(lowest, c);
      for (let begin = at; begin <= Math.min(highest, middle); begin++) {
        const cost = before[begin - 1]! + spread(begin, middle);
        if (cost >= best) continue;
        best = cost;
        at = begin;
      }
      now[middle] = best;
      cut[middle] = at;
      fill(from, middle - 1, lowest, at);
      fill(middle + 1, to, at, highest);
    };
    fill(c, n - 1, c, n - 1);
    costs = now;
    cuts.push(cut);
  }
  const ends = [values[n - 1]!];
  for (let c = classes - 1, to = n - 1; c > 0; c--) {
    to = cuts[c - 1]![to]! - 1;
    ends.push(values[to]!);
  }
  return bordersAt(least, ends.reverse());
}

/** Sum of squared distances from their mean, of the values from one place to another. */
function spreads(
  values: readonly number[],
  weights: readonly number[],
): (from: number, to: number) => number {
  // Values near 1 around 0: squares stay in range, and differences of sums keep their digits.
  const scale = Math.max(Math.abs(values[0]!), Math.abs(values.at(-1)!)) || 1;
  const origin = values[values.length >> 1]! / scale;
  const [counts, sums, squares] = [0, 1, 2].map(() => new Float64Array(values.length + 1)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  values.forEach((value, i) => {
    const x = value / scale - origin;
    counts[i + 1] = counts[i]! + weights[i]!;
    sums[i + 1] = sums[i]! + weights[i]! * x;
    squares[i + 1] = squares[i]! + weights[i]! * x * x;
  });
  return (from, to) => {
    const sum = sums[to + 1]! - sums[from]!;
    const square = squares[to + 1]! - squares[from]!;
    return Math.max(0, square - (sum * sum) / (counts[to + 1]! - counts[from]!));
  };
}
