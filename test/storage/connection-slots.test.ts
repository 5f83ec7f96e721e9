import t from "tap";
import {
  ConnectionSlots,
  manyClients,
  mostSlowOf,
  type Purpose,
  purposes,
} from "../../src/storage/connection-slots.js";
import { Hours } from "../support/hours.js";

/** Who gets the connections of a node. */

const of = (client: string, project = "p") => ({ client, project });
const server = of("", "");

/** Takes all slots that there are for the owner. */
function fill(slots: ConnectionSlots, purpose: Purpose, client: string): (() => void)[] {
  const held: (() => void)[] = [];
  for (;;) {
    const leave = slots.tryEnter(purpose, of(client));
    if (!leave) return held;
    held.push(leave);
  }
}

t.test("a client that takes all it can leaves slots for every purpose, and for another client", (t) => {
  for (const total of [8, 10, 16, 40, 200]) {
    for (const taken of purposes) {
      const slots = new ConnectionSlots(total);
      const held = fill(slots, taken, "hostile");
      t.ok(held.length >= 1, `${total}: ${held.length} ${taken}`);
      for (const wanted of purposes)
        t.ok(slots.tryEnter(wanted, of("other")), `${total}: ${wanted} beside ${held.length} ${taken}`);
    }
  }
  t.end();
});

t.test("one that takes all of all purposes leaves others what is quick, and a read", (t) => {
  const slots = new ConnectionSlots(10);
  for (const purpose of ["background", "writes", "lists", "reads"] as const) fill(slots, purpose, "hostile");
  t.ok(slots.tryEnter("reads", of("other")));
  t.ok(slots.tryEnter("quick", server));
  t.ok(slots.tryEnter("quick", server));
  t.end();
});

t.test("of one client's reads only a few may be slow, whatever is free", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours);
  const enter = (client: string) => slots.tryEnter("reads", of(client));
  const slow = Array.from({ length: 4 }, () => enter("hostile"));
  t.notOk(slow.includes(undefined));
  const quick = enter("hostile");
  t.ok(quick, "none is slow yet");
  quick!();
  await hours.pass(101);
  t.notOk(enter("hostile"));
  t.ok(enter("other"), "slots are free");
  const waiting = slots.wait("reads", of("hostile"));
  slow[0]!();
  t.ok(await waiting, "one after the other");
  t.ok(enter(""), "the server itself may");
});

t.test("the server's reads for many clients are not those of one, however slow", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours);
  for (const client of Object.values(manyClients)) {
    const enter = () => slots.tryEnter("reads", of(client, ""));
    const slow = Array.from({ length: 4 }, enter);
    await hours.pass(101);
    const more = enter();
    t.ok(more, client);
    for (const leave of [...slow, more]) leave?.();
    t.ok(enter(), `${client}, after slow ones`);
  }
});

t.test("who had a slow read does not come in with many at once, before any of them is slow", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours);
  const enter = (client: string) => slots.tryEnter("reads", of(client));
  const slow = enter("hostile")!;
  await hours.pass(101);
  slow();
  t.equal(fill(slots, "reads", "hostile").length, 4);
  t.ok(fill(slots, "reads", "other").length > 4);
  const later = new ConnectionSlots(16, 5_000, hours);
  const once = later.tryEnter("reads", of("hostile"))!;
  await hours.pass(101);
  once();
  await hours.pass(60_001);
  t.ok(fill(later, "reads", "hostile").length > 4, "after a while that is forgotten");
});

t.test("many clients with slow reads leave slots to others, who do not wait for them", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours, 2);
  const sites = Array.from({ length: 64 }, (_, index) => `hostile ${index}`);
  for (const site of sites) {
    const leave = slots.tryEnter("reads", of(site))!;
    await hours.pass(101);
    leave();
  }
  const held = sites.flatMap((site) => slots.tryEnter("reads", of(site)) ?? []);
  t.equal(held.length, 4, "all together as many as two of them may have");
  const waiting = sites.map((site) => slots.wait("reads", of(site)));
  t.ok(slots.tryEnter("reads", of("other", "q")), "another finds one at once");
  for (const leave of held) leave();
  await Promise.all(waiting.map(async (slot) => (await slot)()));
  t.equal(slots.waiting, 0, "and each of them has its turn");
});

t.test("who is slow himself does not wait for what is read slowly of another project", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours, 2);
  const slowly = async (client: string, project: string) => {
    const leave = slots.tryEnter("reads", of(client, project))!;
    await hours.pass(101);
    leave();
  };
  const sites = Array.from({ length: 64 }, (_, index) => `hostile ${index}`);
  for (const site of [...sites, "a", "b", "c"]) await slowly(site, "p");
  const held = sites.flatMap((site) => slots.tryEnter("reads", of(site)) ?? []);
  const waiting = sites.map((site) => slots.wait("reads", of(site)));
  const first = slots.tryEnter("reads", of("a", "q"));
  t.ok(first, "the first of a project finds a slot");
  t.notOk(slots.tryEnter("reads", of("b", "q")), "the second waits for the first");
  waiting.push(slots.wait("reads", of("b", "q")));
  const others = Array.from({ length: 10 }, (_, index) => slots.tryEnter("reads", of("c", `r${index}`)));
  t.equal(others.filter(Boolean).length, 2, "but a client has no more than its own");
  const more = sites.map((site, index) => slots.tryEnter("reads", of(site, `s${index}`)));
  t.equal(more.filter(Boolean).length, 3, "and others find all that is free");
  for (const leave of [...held, first, ...others, ...more]) leave?.();
  await Promise.all(waiting.map(async (slot) => (await slot)()));
});

t.test("a client has no more slow statements than there are cores, where PostgreSQL shares them", (t) => {
  t.equal(mostSlowOf(16, undefined), 4);
  t.equal(mostSlowOf(16, 1), 2);
  t.equal(mostSlowOf(16, 3), 3);
  t.equal(mostSlowOf(16, 64), 4);
  t.equal(mostSlowOf(2, 64), 1);
  t.end();
});

t.test("free slots are everybody's", (t) => {
  const slots = new ConnectionSlots(10);
  t.equal(fill(slots, "reads", "").length, 5, "all but those kept for other purposes");
  t.equal(
    fill(new ConnectionSlots(10), "reads", "alone").length,
    4,
    "and one that is kept for another client",
  );
  t.equal(fill(new ConnectionSlots(2), "quick", "").length, 2);
  t.end();
});

t.test("all networks of an IPv6 site are one client", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(16, 5_000, hours);
  let held = 0;
  while (slots.tryEnter("reads", of(`2001:db8:7:${held}`))) held++;
  t.equal(held, fill(new ConnectionSlots(16), "reads", "alone").length);
  t.ok(slots.tryEnter("reads", of("2001:db8:8:0")), "a slot is left for another site");
  const slow = new ConnectionSlots(16, 5_000, hours);
  for (let network = 0; network < 4; network++) slow.tryEnter("reads", of(`2001:db8:7:${network}`));
  await hours.pass(101);
  t.notOk(slow.tryEnter("reads", of("2001:db8:7:9")), "few may be slow");
  t.ok(slow.tryEnter("reads", of("2001:db8:8:9")));
});

t.test("those who wait have turns by client, and no more than their number", async (t) => {
  const slots = new ConnectionSlots(10, 5_000, new Hours());
  const held = fill(slots, "writes", "hostile");
  const held2 = fill(slots, "writes", "second");
  const order: string[] = [];
  const wait = async (client: string) => {
    const leave = await slots.wait("writes", of(client));
    order.push(client);
    held.push(leave);
  };
  const waiting = ["hostile", "hostile", "hostile", "other", "another"].map(wait);
  t.equal(slots.waiting, 5);
  t.equal(slots.counts().writes.waiting, 5);
  held2.pop()!();
  for (const client of ["other", "another"]) {
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(order.at(-1), client);
    held.pop()!();
  }
  await new Promise((resolve) => setImmediate(resolve));
  while (held.length > 0) {
    held.pop()!();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waiting);
  t.same(order, ["other", "another", "hostile", "hostile", "hostile"]);
  t.match(slots.counts().writes, { held: 0, waiting: 0, refused: 0 });
});

t.test("many clients of one project keep nobody waiting who reads of another", async (t) => {
  for (const purpose of ["reads", "lists", "writes"] as const) {
    const slots = new ConnectionSlots(10, 5_000, new Hours());
    const order: string[] = [];
    const held: (() => void)[] = [];
    const wait = async (client: string, project: string) => {
      held.push(
        slots.tryEnter(purpose, of(client, project)) ?? (await slots.wait(purpose, of(client, project))),
      );
      order.push(project);
    };
    const waiting = Array.from({ length: 48 }, (_, index) => wait(`hostile ${index}`, "flooded"));
    waiting.push(wait("somebody", "calm"), wait("another", "calm"));
    await new Promise((resolve) => setImmediate(resolve));
    const before = order.length;
    t.notOk(order.includes("calm"), "there is no slot");
    while (held.length > 0) {
      held.shift()!();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(waiting);
    t.same(order.slice(before, before + 2), ["calm", "calm"], `${purpose}: the next two are theirs`);
  }
});

t.test("a wait ends with its time or its client", async (t) => {
  const hours = new Hours();
  const slots = new ConnectionSlots(10, 5_000, hours);
  const held = fill(slots, "lists", "a");
  const late = slots.wait("lists", of("a"));
  const leaving = new AbortController();
  const left = slots.wait("lists", of("a"), { signal: leaving.signal });
  leaving.abort(new Error("gone"));
  await t.rejects(left, { message: "gone" });
  await Promise.all([t.rejects(late, { code: "busy", data: { retryAfterSeconds: 5 } }), hours.pass(5_000)]);
  t.match(slots.counts().lists, { held: held.length, waiting: 0, refused: 1 });
  for (const leave of held) leave();
  t.equal(fill(slots, "lists", "a").length, held.length);
});

t.test("who fills the queue is the only one who is refused", async (t) => {
  const slots = new ConnectionSlots(10, 5_000, new Hours());
  const held = fill(slots, "reads", "hostile");
  const refused: string[] = [];
  const wait = (client: string) =>
    slots.wait("reads", of(client)).then(
      (leave) => leave(),
      () => void refused.push(client),
    );
  const hostile = Array.from({ length: 1_000 }, () => wait("hostile"));
  const last = slots.tryEnter("reads", of("x"))!;
  const others = ["b", "c", "d"].map(wait);
  last();
  for (const leave of held) leave();
  await Promise.all([...hostile, ...others]);
  t.same(refused, ["hostile", "hostile", "hostile"]);
});
