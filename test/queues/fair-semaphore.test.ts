import t from "tap";
import { FairSemaphore, type FairSemaphoreOptions } from "../../src/queues/fair-semaphore.js";
import { failure } from "../support/failure.js";
import { Hours } from "../support/hours.js";

/** Desks at which works are done; `names` tells in which order they began. */
function desks(options: Partial<FairSemaphoreOptions> = {}) {
  const clock = new Hours();
  const semaphore = new FairSemaphore({
    permits: 2,
    mostWaiting: 100,
    timeoutMs: 20_000,
    refusal: "Too much waits.",
    clock,
    ...options,
  });
  const begun: string[] = [];
  const working: { readonly until: number; readonly leave: () => void }[] = [];
  /** A work named by its owners, such as `a/x 3`. */
  const bring = async (name: string, ms = 1_000, signal?: AbortSignal): Promise<void> => {
    const owners = name.split(" ")[0]!.split("/");
    const leave = await semaphore.acquire({ owners, ...(signal && { signal }) });
    begun.push(name);
    working.push({ until: clock.now() + ms, leave });
  };
  const bringAll = (owner: string, count: number, ms?: number) => {
    for (let n = 1; n <= count; n++) void bring(`${owner} ${n}`, ms);
  };
  /** Ends the works that end first. */
  const pass = async () => {
    await clock.turn();
    const next = Math.min(...working.map(({ until }) => until));
    await clock.pass(next - clock.now());
    for (const work of working.splice(0)) {
      if (work.until > next) working.push(work);
      else work.leave();
    }
    await clock.turn();
  };
  const doAll = async () => {
    await clock.turn();
    while (working.length > 0) await pass();
  };
  return { clock, semaphore, bring, bringAll, pass, doAll, names: () => begun.splice(0).join(", ") };
}

t.test("an owner alone has all places, in order", async (t) => {
  const { bringAll, doAll, semaphore, clock, names } = desks();
  bringAll("a", 5);
  await clock.turn();
  t.equal(semaphore.held, 2);
  t.equal(semaphore.waiting, 3);
  await doAll();
  t.equal(names(), "a 1, a 2, a 3, a 4, a 5");
  t.equal(semaphore.held, 0);
  t.equal(clock.waiting, 0, "nothing is left that would go off later");
});

t.test("an owner may hold no more than one has at most, whatever is free", async (t) => {
  const { bringAll, doAll, semaphore, clock, names } = desks({ permits: 8, mostOfOne: 2 });
  bringAll("a", 4);
  bringAll("b", 1);
  await clock.turn();
  t.equal(semaphore.held, 3);
  t.equal(names(), "a 1, a 2, b 1");
  await doAll();
  t.equal(names(), "a 3, a 4");
});

t.test("an owner within may hold no more than one has at most, in all owners together", async (t) => {
  const { bringAll, doAll, semaphore, clock, names } = desks({ permits: 4, mostOfNext: 2 });
  bringAll("a/x", 3);
  bringAll("b/x", 1);
  bringAll("a/y", 1);
  await clock.turn();
  t.equal(semaphore.held, 3);
  t.equal(names(), "a/x 1, a/x 2, a/y 1");
  await doAll();
  t.equal(names(), "b/x 1, a/x 3");
  t.equal(semaphore.held, 0);
});

t.test("an owner of one work does not wait for the many of another", async (t) => {
  const { bringAll, doAll, names } = desks();
  bringAll("a", 6);
  bringAll("b", 1);
  bringAll("c", 1);
  await doAll();
  t.equal(names(), "a 1, a 2, b 1, c 1, a 3, a 4, a 5, a 6");
});

t.test("an owner whose works take long holds no more places than one whose works are short", async (t) => {
  const { bringAll, doAll, names } = desks();
  bringAll("a", 4, 1_000);
  bringAll("b", 6, 500);
  await doAll();
  t.equal(names(), "a 1, a 2, b 1, a 3, b 2, a 4, b 3, b 4, b 5, b 6", "one each while both wait");
});

t.test("a kept place is for those who hold none", async (t) => {
  const { bringAll, pass, doAll, semaphore, clock, names } = desks({ permits: 3, kept: 1 });
  bringAll("a", 5);
  await clock.turn();
  t.equal(semaphore.held, 2, "although one is free");
  bringAll("b", 2);
  await clock.turn();
  t.equal(names(), "a 1, a 2, b 1", "b need not wait");
  await pass();
  t.equal(semaphore.held, 2);
  await doAll();
  t.equal(names(), "a 3, b 2, a 4, a 5");
});

t.test("what an owner gets is shared among those within it", async (t) => {
  const { bringAll, doAll, names } = desks({ permits: 1 });
  bringAll("a/x", 4);
  bringAll("a/y", 1);
  bringAll("b/x", 3);
  await doAll();
  t.equal(names(), "a/x 1, b/x 1, a/y 1, b/x 2, a/x 2, b/x 3, a/x 3, a/x 4");
});

t.test("an owner of twice the weight gets twice as much", async (t) => {
  const { bringAll, doAll, names } = desks({ permits: 1, weightOf: (owner) => (owner === "a" ? 2 : 1) });
  bringAll("c", 1);
  bringAll("a", 4);
  bringAll("b", 3);
  await doAll();
  const order = names();
  t.equal(order.slice(0, order.indexOf("b 2")), "c 1, a 1, b 1, a 2, a 3, ", order);
});

t.test("owners who come anew, without end, do not keep those waiting who were here before", async (t) => {
  const { bringAll, bring, pass, clock, names } = desks({ permits: 1 });
  bringAll("a", 2);
  await clock.turn();
  for (let n = 1; n <= 30; n++) {
    void bring(`new${n} ${n}`);
    void bring(`more${n} ${n}`);
    await pass();
  }
  t.match(names(), /a 1.*a 2/);
});

t.test("when too many wait, the last of the owner with most is refused, new or not", async (t) => {
  const { bring, bringAll, doAll, clock, names } = desks({ permits: 1, mostWaiting: 4 });
  bringAll("a", 3);
  const [fourth, last] = ["a 4", "a 5"].map((name) => t.rejects(bring(name), failure("busy"), "displaced"));
  await clock.turn();
  await t.rejects(bring("a 6"), failure("busy"), "who has most is refused itself");
  bringAll("b", 1);
  await last;
  void bring("b 2");
  await fourth;
  await t.rejects(bring("b 3"), failure("busy"), "who would have most is refused itself");
  await doAll();
  t.equal(names(), "a 1, b 1, a 2, b 2, a 3");
});

t.test("an owner may be bound in how many wait", async (t) => {
  const { bring, bringAll, doAll, clock, names } = desks({ permits: 1, mostOfOwner: 2 });
  bringAll("a", 3);
  await clock.turn();
  await t.rejects(bring("a 4"), failure("busy"));
  bringAll("b", 1);
  await doAll();
  t.equal(names(), "a 1, b 1, a 2, a 3");
});

t.test("within an owner the one with most is refused", async (t) => {
  const { bring, bringAll, doAll, clock, names } = desks({ permits: 1, mostWaiting: 3 });
  bringAll("a/x", 3);
  const displaced = t.rejects(bring("a/x 4"), failure("busy"));
  await clock.turn();
  void bring("a/y 1");
  await displaced;
  await doAll();
  t.equal(names(), "a/x 1, a/y 1, a/x 2, a/x 3");
});

t.test("who leaves or has waited too long takes nobody's turn", async (t) => {
  const { bring, bringAll, doAll, semaphore, clock, names } = desks({ permits: 1 });
  bringAll("a", 1, 30_000);
  await clock.turn();
  const leaving = new AbortController();
  const left = t.rejects(bring("b 1", 1_000, leaving.signal), { message: "gone" });
  const late = t.rejects(bring("b 2"), failure("busy"));
  await clock.pass(19_000);
  void bring("c 1");
  leaving.abort(new Error("gone"));
  await left;
  await clock.pass(1_000);
  await late;
  t.equal(semaphore.waiting, 1);
  await t.rejects(bring("b 3", 1_000, leaving.signal), { message: "gone" }, "nor who had left before");
  await doAll();
  t.equal(names(), "a 1, c 1");
  t.equal(semaphore.held, 0);
});

t.test("any number of owners leaves nothing behind", async (t) => {
  const { bring, doAll, semaphore, names, clock } = desks({ permits: 1, mostWaiting: 5_000 });
  for (let n = 1; n <= 3_000; n++) void bring(`made-up${n}`, 1);
  await clock.turn();
  t.equal(semaphore.waiting, 2_999);
  await doAll();
  t.equal(names().split(", ").length, 3_000);
});
