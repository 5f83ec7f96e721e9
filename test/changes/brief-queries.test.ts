import t from "tap";
import { BriefQueries } from "../../src/changes/brief-queries.js";
import type { Clock } from "../../src/clock.js";

/** Whom a database keeps waiting that a node could do without. */

/** A clock whose timers are called by hand. */
function handClock() {
  const timers = new Set<() => void>();
  const clock: Pick<Clock, "after"> = {
    after: (_ms, work) => {
      timers.add(work);
      return () => timers.delete(work);
    },
  };
  const pass = () => {
    for (const work of [...timers]) {
      timers.delete(work);
      work();
    }
  };
  return { clock, pass };
}

function hanging() {
  let resolve: (text: string) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<string>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}
const silent = { message: "The database does not answer." };

t.test("one slow query keeps no others from a database that answers", async (t) => {
  const { clock, pass } = handClock();
  const brief = new BriefQueries(clock);
  const slow = hanging();
  const first = brief.run(() => slow.promise);
  pass();
  await t.rejects(first, silent);
  const trial = hanging();
  const second = brief.run(() => trial.promise);
  await t.rejects(
    brief.run(async () => "meanwhile"),
    silent,
    "one finds out",
  );
  trial.resolve("there");
  t.equal(await second, "there");
  t.equal(await brief.run(async () => "others"), "others");
  slow.resolve("late");
});

t.test("few wait for one that hangs, and all are answered when it goes on", async (t) => {
  const { clock, pass } = handClock();
  const brief = new BriefQueries(clock);
  const late = [hanging(), hanging(), hanging()];
  for (const { promise } of late) {
    const waiting = brief.run(() => promise);
    pass();
    await t.rejects(waiting, silent);
  }
  let asked = 0;
  await t.rejects(
    brief.run(async () => asked++),
    silent,
  );
  t.equal(asked, 0);
  late[1]!.reject(new Error("The connection was lost."));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(await brief.run(async () => "again"), "again");
});
