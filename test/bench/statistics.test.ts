import t from "tap";
import { broken, type Row, table, unclear } from "../../bench/report.js";
import { compare, type Figure } from "../../bench/rounds.js";
import { median, medianInterval } from "../../bench/statistics.js";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

t.test("the median is the middle value, or the mean of two", async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.throws(() => median([]));
});

t.test("the interval of a median is that of the sign test", async (t) => {
  t.equal(medianInterval(upTo(5)), undefined, "five values are too few");
  // From tables of the binomial distribution.
  for (const [count, low] of [
    [6, 1],
    [9, 2],
    [12, 3],
    [18, 5],
    [27, 8],
  ] as const)
    t.same(medianInterval(upTo(count).reverse()), { low, high: count + 1 - low }, `${count} values`);
});

/** Sides of which ours gives these figures in turn, and the reference 100. */
async function compared(ours: readonly number[], figure: Partial<Figure<number>>) {
  const turns: string[] = [];
  let next = 0;
  const rows = await compare(
    { rounds: 9, most: 27 },
    async () => {
      turns.push("A");
      return ours[next++ % ours.length]!;
    },
    [
      async () => {
        turns.push("B");
        return 100;
      },
    ],
    [{ measure: "m", unit: "u", of: (value) => value, ...figure }],
  );
  return { row: rows[0]!, turns: turns.join("") };
}

t.test("the sides take turns, after one of each that does not count", async (t) => {
  const { row, turns } = await compared([1, ...Array(9).fill(120)], { gate: 1 });
  t.equal(turns, "ABABBAABBAABBAABBAAB");
  t.equal(row.ratio, 1.2);
  const interval = { low: 1.2, high: 1.2 };
  t.same(row.rounds, { done: 9, most: 27, interval, range: interval });
  const less = await compared([50], { less: true });
  t.equal(less.row.ratio, 2, "of what should be little, less is better");
});

t.test("rounds are added while it is unclear whether a gate is kept, whichever way it seems", async (t) => {
  for (const values of [
    [80, 80, 80, 120, 120],
    [80, 80, 120, 120, 120],
  ]) {
    const { row } = await compared(values, { gate: 1 });
    t.equal(row.rounds!.done, 27);
    t.ok(unclear(row));
  }
  for (const value of [90, 110]) {
    const { row } = await compared([value], { gate: 1 });
    t.equal(row.rounds!.done, 9);
    t.notOk(unclear(row));
  }
  t.equal((await compared([80, 120], {})).row.rounds!.done, 9, "what has no gate needs no more");
});

t.test("the median decides, and the table says how sure that is", async (t) => {
  const row = (ratio: number, low: number, high: number): Row => ({
    ...{ measure: "m", unit: "u", ours: 1, reference: 1, ratio, gate: 1 },
    rounds: { done: 9, most: 27, interval: { low, high }, range: { low: 0.5, high: 2 } },
  });
  const rows = [row(1.1, 1.05, 1.2), row(1.1, 0.9, 1.2), row(0.9, 0.8, 1.2), row(0.9, 0.8, 0.95)];
  t.same(broken(rows, false), rows.slice(2));
  t.same(
    table(rows)
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ {2,}/).slice(5)),
    [
      ["1.05–1.20", "0.50–2.00", "9 of 27", "≥ 1", "yes"],
      ["0.90–1.20", "0.50–2.00", "9 of 27", "≥ 1", "yes, unsure"],
      ["0.80–1.20", "0.50–2.00", "9 of 27", "≥ 1", "NO, unsure"],
      ["0.80–0.95", "0.50–2.00", "9 of 27", "≥ 1", "NO"],
    ],
  );
});

t.test("without a reference, or one that tells nothing, there is no ratio", async (t) => {
  const figure = { measure: "m", unit: "u", of: (value: number | undefined) => value };
  const plan = { rounds: 1, most: 1 };
  const [alone] = await compare<number | undefined>(plan, async () => 5, [], [figure]);
  t.match(alone, { ours: 5, rounds: { done: 1, interval: undefined, range: undefined } });
  t.equal(alone!.ratio, undefined);
  const silent = await compare<number | undefined>(plan, async () => 5, [async () => undefined], [figure]);
  t.same(silent, [alone]);
  t.match(table(silent).split("\n")[1], /^m +u +5 +– +– +1 of 1$/);
  t.same(broken([{ ...alone!, gate: 1 }], false), [{ ...alone!, gate: 1 }], "a gate is not kept by nothing");
});
