import t from "tap";
import { InFlight } from "../../src/queues/in-flight.js";

const always = () => true;

/** Work that ends when it is told to. */
function work() {
  let finish: (value: string) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const result = new Promise<string>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  return { result, finish, fail };
}

t.test("a thousand waiters share one piece of work", async (t) => {
  const flights = new InFlight<string>();
  const { result, finish } = work();
  let started = 0;
  const signal = new AbortController().signal;
  const waiters = Array.from({ length: 1000 }, () =>
    flights.join("a", {
      signal,
      versions: [1],
      usable: always,
      start: () => {
        started++;
        return result;
      },
    }),
  );
  finish("done");
  t.same(new Set(await Promise.all(waiters)), new Set(["done"]));
  t.equal(started, 1);
  t.equal(flights.size, 0);
});

t.test("a waiter whose data are newer than the work's starts its own", async (t) => {
  const flights = new InFlight<string>();
  const [first, second] = [work(), work()];
  const signal = new AbortController().signal;
  const early = flights.join("a", { signal, versions: [1], usable: always, start: () => first.result });
  const late = flights.join("a", {
    signal,
    versions: [2],
    usable: ([v]) => v === 2,
    start: () => second.result,
  });
  second.finish("new");
  first.finish("old");
  t.equal(await early, "old");
  t.equal(await late, "new");
});

t.test("work is aborted only when its last waiter has left", async (t) => {
  const flights = new InFlight<string>();
  const { result } = work();
  let aborted = false;
  const start = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => {
      aborted = true;
    });
    return result;
  };
  const [one, two] = [new AbortController(), new AbortController()];
  const waits = [one, two].map(({ signal }) =>
    flights.join("a", { signal, versions: [], usable: always, start }),
  );
  one.abort(new Error("gone"));
  await t.rejects(waits[0]!, { message: "gone" });
  t.notOk(aborted);
  two.abort(new Error("gone too"));
  await t.rejects(waits[1]!, { message: "gone too" });
  t.ok(aborted);
  t.notOk(flights.has("a", always), "nobody joins aborted work");
});

t.test("failed work is told to its waiters and not remembered", async (t) => {
  const flights = new InFlight<string>();
  const { result, fail } = work();
  const signal = new AbortController().signal;
  const wait = flights.join("a", { signal, versions: [], usable: always, start: () => result });
  fail(new Error("broken"));
  await t.rejects(wait, { message: "broken" });
  t.notOk(flights.has("a", always));
});
