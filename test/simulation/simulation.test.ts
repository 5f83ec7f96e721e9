import t from "tap";
import { mutants, window } from "./mutants.js";
import { firstPartition } from "./partitions.js";
import { playSeeds } from "./processes.js";
import type { Counted } from "./run.js";
import { shortest } from "./shorten.js";

/** With the worlds that find mutants, all mutants are found in them. `npm run fuzz` plays more. */
const seeds = Math.max(2_000, Number(process.env.FUZZ_CASES ?? 0));
/** As many again for which links break. */
const partitions = Math.max(500, Number(process.env.FUZZ_CASES ?? 0) / 4);
const processes = 2;
/** Several times the usual duration: the cores may be busy with other tests. */
t.setTimeout(1_200_000);

/** The first of the seeds of mutants from `from` to `to`. */
const firsts = (from: number, to: number): number[] => [
  ...new Set(mutants.flatMap(({ first = 1 }) => (first >= from && first < to ? [first] : []))),
];

/** In each process a part of the seeds from `first`, and of those by which mutants beyond them are found. */
const played = (first: number, count: number, beyond: readonly number[]) =>
  Promise.all(
    Array.from({ length: processes }, (_, index) =>
      playSeeds({
        first: first + (index * count) / processes,
        count: count / processes,
        beyond: beyond.filter((_, place) => place % processes === index),
      }),
    ),
  );

t.test(
  `in ${seeds} worlds no answer is older than the last write that was answered before its request`,
  async (t) => {
    const beyond = firsts(seeds - window, firstPartition);
    let all = 0;
    for (const { status, output } of await played(1, seeds, beyond)) {
      if (status !== 0) return t.fail(`failed:\n${output}`);
      const counted = JSON.parse(output) as Counted;
      all += counted.seeds;
      t.ok(counted.states > counted.seeds / 10, `${counted.states} states of metatiles in calm worlds`);
      t.ok(counted.renders <= 1.1 * counted.states, `${counted.renders} renders of ${counted.states} states`);
    }
    t.equal(all, seeds + beyond.length * window);
  },
);

t.test(
  `in ${partitions} worlds nothing is given out as current that may be old, whatever links break`,
  async (t) => {
    const beyond = firsts(firstPartition + partitions - window, Number.POSITIVE_INFINITY);
    for (const { status, output } of await played(firstPartition, partitions, beyond))
      t.equal(status, 0, output);
  },
);

t.test("the same seeds are the same worlds", async (t) => {
  const [one, other] = await Promise.all([1, 2].map(() => playSeeds({ first: 1, count: 100 })));
  t.equal(one!.status, 0, one!.output);
  t.equal(one!.output, other!.output);
});

t.test("a failing list of steps is shrunk to those that are needed", async (t) => {
  const steps = Array.from({ length: 12 }, (_, index) => index);
  t.same(
    shortest(steps, (some) => some.includes(3) && some.includes(7)),
    [3, 7],
  );
  // 9 is needed only as long as 2 is there.
  t.same(
    shortest(steps, (some) => some.includes(5) && (some.includes(9) || !some.includes(2))),
    [5],
  );
  t.same(
    shortest(steps, () => true),
    [],
  );
});

t.test("a failing seed is reported with its shortest trace", async (t) => {
  const mutant = mutants.find(({ file }) => file === "tiles/address-cache");
  const { status, output } = await playSeeds({ first: 1, count: 1_000, mutant: mutant! });
  t.equal(status, 2, output);
  const [seed = "", conditions = "", steps = "", ...trace] = output.split("\n");
  t.match(seed, /^Seed \d+: #\d+ /);
  t.match(JSON.parse(conditions), { seed: Number(/\d+/.exec(seed)![0]) });
  const [, left, all] = /^(\d+) of (\d+) steps: /.exec(steps) ?? [];
  t.ok(Number(left) > 0 && Number(left) < Number(all), steps);
  t.ok(
    trace.some((line) => /^ +[\d.]+ {2}WRONG: #\d+ /.test(line)),
    trace.join("\n"),
  );
});
