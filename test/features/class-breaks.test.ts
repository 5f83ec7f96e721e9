import t from "tap";
import { algorithms, suitableAlgorithm } from "../../src/features/class-algorithm.js";
import { breaksAt, equalIntervals, naturalBreaks, quantileRanks } from "../../src/features/class-breaks.js";
import { classColour } from "../../src/visual/class-colours.js";
import { roundest, roundIntervals } from "../../src/visual/round-breaks.js";
import { roundestDate } from "../../src/visual/round-dates.js";

/** Borders of classes against values worked out by hand, and by trying every way to cut. */

t.test("equal intervals have one width", async (t) => {
  t.same(equalIntervals(0, 10, 4), [0, 2.5, 5, 7.5, 10]);
  t.same(equalIntervals(-3, 3, 2), [-3, 0, 3]);
  t.same(equalIntervals(1, 2, 1), [1, 2]);
  t.same(equalIntervals(7, 7, 5), [7, 7]);
  t.same(equalIntervals(-1e308, 1e308, 2), [-1e308, 0, 1e308]);
  t.equal(equalIntervals(0.1, 0.7, 3).at(-1), 0.7, "the ends are the values' own");
});

t.test("quantiles have equally many values", async (t) => {
  t.same(quantileRanks(10, 5), [2, 4, 6, 8, 10]);
  t.same(quantileRanks(10, 4), [3, 5, 8, 10]);
  t.same(quantileRanks(2, 5), [1, 1, 2, 2, 2]);
  t.same(quantileRanks(1, 3), [1, 1, 1]);
  t.same(breaksAt(0, [0, 0, 0, 5, 9]), [0, 0, 5, 9], "many equal values are one class");
  t.same(breaksAt(7, [7, 7]), [7, 7]);
});

t.test("natural breaks lie in the gaps", async (t) => {
  t.same(naturalBreaks([1, 2, 3, 10, 11, 12, 50], 3), [1, 3, 12, 50]);
  t.same(
    naturalBreaks(
      [-1, 2, -1, 2, 4, 5, 6, -1, 2, -1].sort((a, b) => a - b),
      3,
    ),
    [-1, -1, 2, 6],
  );
  t.same(naturalBreaks([5, 5, 5], 4), [5, 5]);
  t.same(naturalBreaks([5], 1), [5, 5]);
  t.same(naturalBreaks([1, 2, 3], 3), [1, 1, 2, 3]);
  t.same(naturalBreaks([1, 2, 3], 9), [1, 1, 2, 3]);
  t.same(naturalBreaks([1, 2, 8], 1), [1, 8]);
  t.same(naturalBreaks([-1e308, -0.9e308, 1e308], 2), [-1e308, -0.9e308, 1e308]);
});

const spread = (values: readonly number[]): number => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
};

/** Least sum of all ways to cut the values into so many classes. */
function leastSpread(sorted: readonly number[], classes: number): number {
  if (classes === 1) return spread(sorted);
  let least = Number.POSITIVE_INFINITY;
  for (let cut = 1; cut <= sorted.length - classes + 1; cut++)
    least = Math.min(least, spread(sorted.slice(0, cut)) + leastSpread(sorted.slice(cut), classes - 1));
  return least;
}

t.test("no other way to cut has less spread than natural breaks", async (t) => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
  for (let round = 0; round < 60; round++) {
    const values = Array.from({ length: 9 }, () => Math.round(random() ** 3 * 100)).sort((a, b) => a - b);
    const classes = 2 + (round % 3);
    if (new Set(values).size <= classes) continue;
    const borders = naturalBreaks(values, classes);
    t.equal(borders.length, classes + 1);
    const groups = borders
      .slice(1)
      .map((end, i) => values.filter((v) => v <= end && (i === 0 || v > borders[i]!)));
    t.equal(groups.flat().length, values.length);
    const sum = groups.reduce((total, group) => total + spread(group), 0);
    t.ok(Math.abs(sum - leastSpread(values, classes)) < 1e-6, `${values} ${borders}`);
  }
});

t.test("many values and classes are cut too", async (t) => {
  const borders = naturalBreaks(
    Array.from({ length: 2_048 }, (_, i) => i * i),
    1_000,
  );
  t.equal(borders.length, 1_001);
  t.ok(borders.every((border, i) => i < 2 || border > borders[i - 1]!));
});

t.test("colours go from the first over the middle to the last", async (t) => {
  const colours = ["#000000", "#80ff00", "#ffffff"] as const;
  const of = (classes: number) =>
    Array.from({ length: classes }, (_, at) => classColour([...colours], at, classes));
  t.same(of(1), ["#80ff00"]);
  t.same(of(2), ["#000000", "#ffffff"]);
  t.same(of(3), ["#000000", "#80ff00", "#ffffff"]);
  t.same(of(5), ["#000000", "#408000", "#80ff00", "#c0ff80", "#ffffff"]);
});

t.test("the roundest number of a range is the one that a person would write", async (t) => {
  for (const [from, to, expected] of [
    [2387, 2612, 2500],
    [2387, 2450, 2400],
    [0.31, 0.36, 0.35],
    [-7.3, -6.8, -7],
    [-3, 2, 0],
    [7, 8, 7],
    [7.1, 7.9, 7.5],
    [1999, 2002, 2000],
    [4.2e12, 5.4e12, 5e12],
    [1.2e-300, 1.7e-300, 1.5e-300],
    [5, 5, 5],
  ] as const)
    t.equal(roundest(from, to, from), expected, `${from} to ${to}`);
  t.same(roundIntervals(equalIntervals(1, 100, 5)), [1, 21, 41, 60, 80, 100]);
  t.same(roundIntervals(equalIntervals(-1e308, 1e308, 2)), [-1e308, 0, 1e308]);
});

t.test(
  "the roundest date of a range is the beginning of a year, else of a month, a day or an hour",
  async (t) => {
    const seconds = (text: string) => Date.parse(text) / 1000;
    for (const [from, to, expected] of [
      ["1974-06-01", "1975-03-01", "1975-01-01"],
      ["1955-01-01", "1964-01-01", "1960-01-01"],
      ["2023-05-10", "2023-09-20", "2023-07-01"],
      ["2023-05-10", "2023-06-20", "2023-06-01"],
      ["2023-05-10T07:00Z", "2023-05-11T09:00Z", "2023-05-11"],
      ["2023-05-10T07:10Z", "2023-05-10T08:20Z", "2023-05-10T08:00Z"],
      ["2023-05-10T07:10:05.2Z", "2023-05-10T07:10:05.7Z", "2023-05-10T07:10:05.2Z"],
      ["0044-06-01", "0051-03-01", "0050-01-01"],
      ["1969-11-05", "1969-12-20", "1969-12-01"],
    ] as const)
      t.equal(
        new Date(roundestDate(seconds(from), seconds(to), seconds(from)) * 1000).toISOString(),
        new Date(expected).toISOString(),
        `${from} to ${to}`,
      );
    t.equal(roundestDate(9e12, 9.1e12, 9e12) % 86_400, 0, "a day beyond the years that a program knows");
  },
);

t.test("classes suit the values: evenly spread, with gaps, skewed", async (t) => {
  const of = (value: (at: number) => number) =>
    suitableAlgorithm(
      Array.from({ length: 200 }, (_, at) => value(at)).sort((a, b) => a - b),
      5,
    );
  t.equal(
    of((at) => 10 + at),
    algorithms.equalIntervals,
  );
  t.equal(
    of((at) => Math.floor(at / 50) ** 2 * 3 + (at % 50) / 100),
    algorithms.naturalBreaks,
  );
  t.equal(
    of((at) => 1.05 ** at),
    algorithms.quantiles,
  );
  t.equal(
    of((at) => -(1.05 ** at)),
    algorithms.quantiles,
  );
  t.equal(
    of(() => 7),
    algorithms.quantiles,
  );
  t.equal(
    of((at) => (at % 2 ? 1e308 : -1e308)),
    algorithms.naturalBreaks,
  );
  t.equal(suitableAlgorithm([], 5), algorithms.quantiles);
});
