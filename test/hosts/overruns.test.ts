import t from "tap";
import { Overruns } from "../../src/hosts/overruns.js";

/** How long what took too long is refused. */

function open() {
  const clock = { ms: 0, now: () => clock.ms };
  return { overruns: new Overruns(clock), clock };
}

t.test(
  "it is refused for twice as long each time, up to ten minutes, and one task is tried in between",
  async (t) => {
    const { overruns, clock } = open();
    const refusals: number[] = [];
    for (let round = 0; round < 7; round++) {
      overruns.note("slow");
      overruns.note("slow");
      const from = clock.ms;
      while (!overruns.admits("slow")) clock.ms += 1_000;
      refusals.push((clock.ms - from) / 1_000);
      t.notOk(overruns.admits("slow"), "one is tried");
      t.ok(overruns.admits("other"));
    }
    t.same(refusals, [30, 60, 120, 240, 480, 600, 600]);
  },
);

t.test("when the one that is tried is done in time, all are", async (t) => {
  const { overruns, clock } = open();
  overruns.note("slow");
  overruns.done("slow");
  t.notOk(overruns.admits("slow"), "one that ran beside it tells nothing");
  clock.ms = 30_000;
  t.ok(overruns.admits("slow"));
  overruns.done("slow");
  t.ok(overruns.admits("slow"));
  t.ok(overruns.admits("slow"));
});

t.test("when the one that was to be tried is not begun, the next one is tried", async (t) => {
  const { overruns, clock } = open();
  overruns.note("slow");
  overruns.untried("slow");
  t.notOk(overruns.admits("slow"), "one that was admitted before tells nothing");
  clock.ms = 30_000;
  t.ok(overruns.admits("slow"));
  overruns.untried("slow");
  overruns.untried("other");
  t.ok(overruns.admits("slow"));
  t.notOk(overruns.admits("slow"), "one at a time");
  overruns.note("slow");
  clock.ms = 89_000;
  t.notOk(overruns.admits("slow"), "the time doubles as before");
});

t.test("what may have waited for others counts from the second one in a row", async (t) => {
  const { overruns, clock } = open();
  clock.ms = 10;
  overruns.suspect("locked", 0);
  clock.ms = 11;
  overruns.suspect("locked", 5);
  t.ok(overruns.admits("locked"), "the second ran beside the first");
  overruns.done("locked");
  overruns.suspect("locked", 11);
  t.ok(overruns.admits("locked"), "one was done in between");
  overruns.suspect("locked", 11);
  t.notOk(overruns.admits("locked"));
});

t.test("of made-up things a bounded number is remembered", async (t) => {
  const { overruns } = open();
  for (let index = 0; index < 3_000; index++) overruns.note(`made up ${index}`);
  t.ok(overruns.admits("made up 0"));
  t.notOk(overruns.admits("made up 2999"));
});
