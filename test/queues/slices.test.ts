import t from "tap";
import { Slices } from "../../src/queues/slices.js";

/** Works that take long, by a clock that is set by hand. */

function world() {
  const time = { now: 0 };
  const turns: (() => void)[] = [];
  const slices = new Slices({
    now: () => time.now,
    turn: () => new Promise((resolve) => turns.push(resolve)),
  });
  /** The event loop goes on, once. */
  const turn = async () => {
    for (const resolve of turns.splice(0)) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { time, turns, slices, turn };
}

t.test("what is short does not wait", async (t) => {
  const { turns, slices } = world();
  const pause = slices.begin("p1");
  for (let piece = 0; piece < 100; piece++) await pause();
  t.equal(turns.length, 0);
});

t.test("of what is long, one slice of one work is done in a turn", async (t) => {
  const { time, slices, turn } = world();
  const done: string[] = [];
  const work = async (name: string) => {
    const pause = slices.begin("p1");
    for (let piece = 0; piece < 4; piece++) {
      time.now += 3;
      done.push(name);
      await pause();
    }
  };
  let isDone = false;
  const works = Promise.all([work("a"), work("b")]).then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  const first = done.join("");
  const ofTurns: string[] = [];
  for (let n = 0; n < 20 && !isDone; n++) {
    const before = done.length;
    await turn();
    ofTurns.push(done.slice(before).join(""));
  }
  await works;
  t.equal(done.length, 8);
  t.match(first, /^[ab]{2,5}$/, "each begins at once");
  for (const each of ofTurns) t.match(each, /^(?:a*|b*)$/, each);
});

t.test("what of a work goes on side by side takes one turn together", async (t) => {
  const { time, slices, turn } = world();
  const [wide, small] = [slices.begin("p1"), slices.begin("p1")];
  time.now += 10;
  let pieces = 0;
  for (let piece = 0; piece < 8; piece++) void wide().then(() => pieces++);
  let isSmallDone = false;
  void small().then(() => {
    isSmallDone = true;
  });
  await turn();
  t.equal(pieces, 8);
  t.notOk(isSmallDone);
  await turn();
  t.ok(isSmallDone, "its turn is the next");
});

t.test("an owner's many works are no more before another's than one", async (t) => {
  const { time, slices, turn } = world();
  const done: string[] = [];
  const work = async (owner: string) => {
    const pause = slices.begin(owner);
    for (let piece = 0; piece < 4; piece++) {
      time.now += 10;
      await pause();
      done.push(owner);
    }
  };
  const wide = Array.from({ length: 5 }, () => work("p1"));
  await turn();
  const small = work("p2");
  for (let n = 0; n < 40; n++) await turn();
  await Promise.all([...wide, small]);
  const last = done.lastIndexOf("p2");
  t.ok(last <= 9, `the other's four pieces are among the first ten: ${done.join(" ")}`);
});

t.test("works of one piece are done at once, and those beyond a slice in turns to come", async (t) => {
  const { time, turns, slices, turn } = world();
  const done: string[] = [];
  const work = (name: string, ms: number) =>
    slices.whole("p1", () => {
      time.now += ms;
      done.push(name);
      return name;
    });
  t.equal(work("short", 1), "short");
  t.equal(work("long", 10), "long");
  const later = ["a", "b", "c", "d"].map((name) => work(name, 3));
  const failing = slices.whole("p1", () => {
    throw new Error("of the work");
  });
  t.same(done.splice(0), ["short", "long"]);
  await turn();
  t.same(done.splice(0), ["a", "b"]);
  await turn();
  t.same(done.splice(0), ["c", "d"]);
  t.same(await Promise.all(later), ["a", "b", "c", "d"]);
  await Promise.all([t.rejects(failing as Promise<never>, { message: "of the work" }), turn()]);
  await turn();
  t.equal(work("after", 1), "after", "nobody waits any longer");
  t.equal(turns.length, 0);
});
