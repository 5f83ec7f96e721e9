import t from "tap";
import { FairMutex, type LockRequest } from "../../src/queues/fair-mutex.js";
import { failure } from "../support/failure.js";
import { Hours } from "../support/hours.js";

const a: LockRequest = { owner: 1, urgent: false };
const b: LockRequest = { owner: 2, urgent: false };
const c: LockRequest = { owner: 3, urgent: false };
const urgent = (claim: LockRequest): LockRequest => ({ ...claim, urgent: true });

/** One desk, at which works of a given time are done; `done` has the names in the order in which they began. */
function desk() {
  const clock = new Hours();
  const mutex = new FairMutex({
    besideMs: Number.MAX_SAFE_INTEGER,
    timeoutMs: 20_000,
    maxWaiting: 4,
    longestPutOffMs: 5_000,
    refusal: "Too much waits.",
    clock,
  });
  const done: string[] = [];
  let current: { leave: () => void; ms: number } | undefined;
  const bring = (name: string, claim: LockRequest, ms = 1_000): Promise<void> =>
    mutex.acquire(claim).then((leave) => {
      done.push(name);
      current = { leave, ms };
    });
  /** Does all that waits, one work after the other. */
  const doAll = async () => {
    await clock.turn();
    while (current) {
      const { leave, ms } = current;
      current = undefined;
      await clock.pass(ms);
      leave();
      await clock.turn();
    }
  };
  return { clock, mutex, done, bring, doAll, names: () => done.join(" ") };
}

t.test("one work runs at a time, and who is alone is served in order", async (t) => {
  const { bring, doAll, done, clock, names } = desk();
  for (const name of ["a1", "a2", "a3"]) void bring(name, a);
  await clock.turn();
  t.same(done, ["a1"]);
  await doAll();
  t.equal(names(), "a1 a2 a3");
  void bring("a4", a);
  await doAll();
  t.equal(names(), "a1 a2 a3 a4", "also when nobody was there in between");
  t.equal(clock.waiting, 0, "nothing is left that would go off later");
});

t.test("owners who ask for works of a kind take turns", async (t) => {
  const { bring, doAll, names } = desk();
  for (const name of ["a1", "a2", "a3", "a4"]) void bring(name, a);
  for (const name of ["b1", "b2"]) void bring(name, b);
  void bring("c1", c);
  await doAll();
  t.equal(names(), "a1 b1 c1 a2 b2 a3 a4");
});

t.test("who asks for many short works does not wait for as many long ones of another owner", async (t) => {
  const { bring, doAll, names } = desk();
  for (const name of ["a1", "a2", "a3"]) void bring(name, a, 1_600);
  for (const name of ["b1", "b2", "b3", "b4"]) void bring(name, b, 10);
  await doAll();
  t.equal(names(), "a1 b1 b2 b3 b4 a2 a3");
});

t.test("who comes later has as much time from then on as the others, and no more", async (t) => {
  const { bring, doAll, names } = desk();
  for (const name of ["a1", "a2", "a3", "a4"]) {
    void bring(name, a).then(() => {
      if (name === "a3") for (const late of ["c1", "c2", "c3"]) void bring(late, c);
    });
  }
  for (const name of ["b1", "b2", "b3", "b4"]) void bring(name, b);
  await doAll();
  t.equal(names(), "a1 b1 a2 b2 a3 b3 c1 a4 b4 c2 c3");
});

t.test("whoever brings one work after the other has no more time than who brings all at once", async (t) => {
  const { bring, doAll, clock, mutex, names } = desk();
  const leave = await mutex.acquire(a);
  for (const name of ["b1", "b2", "b3"]) void bring(name, b, 10);
  await clock.pass(1_600);
  leave();
  await clock.turn();
  void bring("a2", a, 1_600);
  await doAll();
  t.equal(names(), "b1 b2 b3 a2");
});

t.test("urgent works go first, by owner as well", async (t) => {
  const { bring, doAll, names } = desk();
  for (const name of ["a1", "a2"]) void bring(name, a);
  for (const name of ["A1", "A2"]) void bring(name, urgent(a));
  void bring("B1", urgent(b));
  await doAll();
  t.equal(names(), "a1 A1 B1 A2 a2");
});

t.test("urgent works without end do not put the others off for ever", async (t) => {
  const { bring, doAll, names } = desk();
  for (let n = 1; n <= 14; n++) void bring(`A${n}`, urgent(a));
  for (const name of ["b1", "b2", "b3"]) void bring(name, b);
  await doAll();
  t.equal(names(), "A1 A2 A3 A4 A5 b1 A6 A7 A8 A9 b2 A10 A11 A12 A13 b3 A14");
});

t.test("too many works of one owner are refused at once, and nobody else's", async (t) => {
  const { bring, doAll, names } = desk();
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) void bring(name, a);
  await t.rejects(bring("a6", a), failure("busy"));
  void bring("b1", b);
  for (let n = 1; n <= 6; n++) void bring(`A${n}`, urgent(a), 100);
  await doAll();
  t.equal(names(), "a1 A1 A2 A3 A4 A5 A6 b1 a2 a3 a4 a5");
});

t.test("who waited too long is refused, and takes nobody's turn", async (t) => {
  const { bring, doAll, clock, mutex, names } = desk();
  const leave = await mutex.acquire(a);
  const early = bring("a1", a);
  await clock.pass(10_000);
  void bring("a2", a);
  void bring("b1", b);
  const refused = t.rejects(early, failure("busy"));
  await clock.pass(10_000);
  await refused;
  leave();
  leave();
  await doAll();
  t.equal(names(), "b1 a2");
});
