import { once } from "node:events";
import t from "tap";
import { systemClock } from "../../src/clock.js";
import { RenderQueue } from "../../src/export/render-queue.js";
import { waitFor } from "../support/server.js";

/** When exports may draw. */

// The clock's timers do not keep a process alive.
const alive = setInterval(() => undefined, 1_000);
t.teardown(() => clearInterval(alive));

const queueOf = (load: { waiting: number; running: number }) =>
  new RenderQueue({ load: () => load, concurrency: 2, timeoutMs: 10_000, clock: systemClock });
const { signal } = new AbortController();
const of = (owner: string, ends = signal) => ({ owners: [owner, "one"], signal: ends });
const never = () => new Promise<never>(() => undefined);

t.test("an export waits while others' tiles do, and while they use the whole host", async (t) => {
  const load = { waiting: 1, running: 0 };
  let begun = false;
  const work = queueOf(load).run(async () => {
    begun = true;
  }, of("a"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.notOk(begun);
  Object.assign(load, { waiting: 0, running: 2 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.notOk(begun);
  load.running = 1;
  await work;
  t.ok(begun);
});

t.test("others that never leave the host idle do not stop it for ever", async (t) => {
  t.equal(await queueOf({ waiting: 5, running: 3 }).run(async () => "done", of("a")), "done");
});

t.test("exports take turns, and one that is cancelled gives its turn away", async (t) => {
  const queue = queueOf({ waiting: 0, running: 0 });
  const order: string[] = [];
  const first = new AbortController();
  const end = new AbortController();
  const held = queue.run(() => once(end.signal, "abort"), of("a"));
  const cancelled = queue.run(never, of("b", first.signal));
  const next = queue.run(async () => order.push("next"), of("a"));
  first.abort(new Error("gone"));
  await t.rejects(cancelled, { message: "gone" });
  t.same(order, []);
  end.abort();
  await Promise.all([held, next]);
  t.same(order, ["next"]);
});

t.test("many exports of a project keep that of another waiting for one turn", async (t) => {
  const queue = queueOf({ waiting: 0, running: 0 });
  const order: string[] = [];
  const end = new AbortController();
  let isHeld = false;
  const held = queue.run(() => {
    isHeld = true;
    return once(end.signal, "abort");
  }, of("a"));
  const rest = [..."aaa", "b"].map((owner) => queue.run(async () => order.push(owner), of(owner)));
  await waitFor(() => isHeld);
  end.abort();
  await Promise.all([held, ...rest]);
  t.same(order, ["b", "a", "a", "a"]);
});

t.test("one that is cancelled while the host is busy does not draw", async (t) => {
  const controller = new AbortController();
  const queue = queueOf({ waiting: 1, running: 2 });
  const cancelled = queue.run(never, of("b", controller.signal));
  controller.abort(new Error("gone"));
  await t.rejects(cancelled, { message: "gone" });
  let drawn = false;
  void queue.run(async () => (drawn = true), of("a"));
  await waitFor(() => drawn);
});
