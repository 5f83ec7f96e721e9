import t from "tap";
import { Slots } from "../../workers/render/slots.js";
import { waitFor } from "../support/server.js";

/** Tasks that end when they are told to, and which of them have begun. */
function tasks(slots: Slots) {
  const begun: string[] = [];
  const waited: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, isLong = false, owner?: string) =>
    slots.run(
      async () => {
        begun.push(name);
        await new Promise<void>((end) => ends.set(name, end));
      },
      { isLong, ...(owner !== undefined && { owner }), onWait: (waits) => waits && waited.push(name) },
    );
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, waited, start, end };
}

t.test("as many tasks run at once as there are slots, in their order", async (t) => {
  const { begun, start, end } = tasks(new Slots(2));
  const all = ["a", "b", "c", "d"].map((name) => start(name));
  t.same(begun, ["a", "b"]);
  await end("b");
  t.same(begun, ["a", "b", "c"]);
  for (const name of ["a", "c", "d"]) await end(name);
  await Promise.all(all);
  t.same(begun, ["a", "b", "c", "d"]);
});

t.test("while there are short tasks, long ones leave them a slot", async (t) => {
  const { begun, start, end } = tasks(new Slots(2));
  const all = [start("short"), start("long 1", true), start("long 2", true)];
  t.same(begun, ["short", "long 1"]);
  await end("short");
  t.same(begun, ["short", "long 1"], "the slot is kept");
  all.push(start("short 2"));
  await new Promise((resolve) => setImmediate(resolve));
  t.same(begun.at(-1), "short 2", "for a short one, which passes the long one");
  await end("short 2");
  await end("long 1");
  t.same(begun.at(-1), "long 2");
  await end("long 2");
  await Promise.all(all);
});

t.test("long tasks alone take all slots, and a single slot is for all", async (t) => {
  const two = tasks(new Slots(2));
  const pair = [two.start("a", true), two.start("b", true)];
  t.same(two.begun, ["a", "b"]);
  const one = tasks(new Slots(1));
  const others = [one.start("short"), one.start("long", true)];
  await one.end("short");
  t.same(one.begun, ["short", "long"]);
  for (const name of ["a", "b"]) await two.end(name);
  await one.end("long");
  await Promise.all([...pair, ...others]);
});

t.test("a task that fails gives its slot back", async (t) => {
  const slots = new Slots(1);
  await t.rejects(
    slots.run(() => Promise.reject(new Error("no"))),
    { message: "no" },
  );
  t.equal(await slots.run(async () => 1), 1);
});

t.test("what takes long gives its slots to tasks of others, and to none of its own", async (t) => {
  const { begun, waited, start, end } = tasks(new Slots(2, 2));
  const all = ["slow 1", "slow 2", "slow 3"].map((name) => start(name, false, "slow"));
  all.push(start("quick 1", false, "a"), start("quick 2", false, "b"), start("quick 3", false, "c"));
  t.same(begun, ["slow 1", "slow 2"]);
  t.same(waited, ["slow 3", "quick 1", "quick 2", "quick 3"]);
  await waitFor(() => begun.length === 4);
  t.same(begun.slice(2), ["quick 1", "quick 2"]);
  await end("quick 1");
  t.equal(begun.at(-1), "quick 3");
  await end("quick 2");
  await end("quick 3");
  t.equal(begun.length, 5, "the owner has as many as there are slots");
  await end("slow 2");
  t.equal(begun.at(-1), "slow 3");
  await end("slow 3");
  await end("slow 1");
  await Promise.all(all);
});

t.test("what takes long keeps its slots while nobody else waits", async (t) => {
  const { begun, start, end } = tasks(new Slots(1, 1));
  const all = [start("1", false, "a"), start("2", false, "a")];
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  t.same(begun, ["1"]);
  await end("1");
  await end("2");
  await Promise.all(all);
});
