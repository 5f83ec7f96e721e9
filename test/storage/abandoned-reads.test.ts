import t from "tap";
import { AbandonedReads } from "../../src/storage/abandoned-reads.js";
import { manyClients } from "../../src/storage/connection-slots.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { Hours } from "../support/hours.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Clients that ask for what takes long, and leave. */

t.test("a client may leave three seconds of reads, and a tenth of the time beyond them", async (t) => {
  const hours = new Hours();
  const abandoned = new AbandonedReads(hours);
  abandoned.note("a", 2_900);
  t.notOk(abandoned.owes("a"));
  abandoned.note("a", 200);
  t.ok(abandoned.owes("a"));
  t.notOk(abandoned.owes("b"), "others do not pay for it");
  await hours.pass(1_100);
  t.notOk(abandoned.owes("a"));
  abandoned.note("a", 60_000);
  await hours.pass(30_100);
  t.notOk(abandoned.owes("a"), "it is not owed for ever");
  abandoned.note("", 60_000);
  t.notOk(abandoned.owes(""), "nor by the server itself");
  for (const client of Object.values(manyClients)) {
    abandoned.note(client, 60_000);
    t.notOk(abandoned.owes(client), `nor by all who ask for ${client}`);
  }
});

t.test("what one network of an IPv6 site leaves, all of them owe", (t) => {
  const abandoned = new AbandonedReads(new Hours());
  abandoned.note("2001:db8:7:1", 60_000);
  t.ok(abandoned.owes("2001:db8:7:2"));
  t.notOk(abandoned.owes("2001:db8:8:1"));
  t.end();
});

t.test("a read waits for no more than four seconds, and its client's leaving ends that", async (t) => {
  const hours = new Hours();
  const abandoned = new AbandonedReads(hours);
  abandoned.note("a", 60_000);
  const leaving = new AbortController();
  const left = abandoned.wait("reads", "a", leaving.signal);
  const waited = abandoned.wait("reads", "a", undefined);
  t.equal(abandoned.waiting("reads"), 2);
  leaving.abort(new Error("gone"));
  await t.rejects(left, { message: "gone" });
  await Promise.all([waited, hours.pass(4_000)]);
  t.equal(abandoned.waiting("reads"), 0);
  t.equal(hours.waiting, 0);
});

t.test("who lets too many wait is refused, and nobody else", async (t) => {
  const hours = new Hours();
  const abandoned = new AbandonedReads(hours);
  for (const client of ["a", "b"]) abandoned.note(client, 60_000);
  const many = Array.from({ length: 100 }, () => abandoned.wait("lists", "a", undefined));
  await t.rejects(abandoned.wait("lists", "a", undefined), { code: "busy", data: { retryAfterSeconds: 4 } });
  await Promise.all([...many, abandoned.wait("lists", "b", undefined), hours.pass(4_000)]);
});

t.test("what a client asks for and leaves no longer comes to the database, others' reads do", async (t) => {
  const { url, drop } = await freshDatabase();
  const db = openDatabase({ url, connections: 10, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await drop();
  });
  const leaving = new AbortController();
  const of = (client: string, signal: AbortSignal) =>
    db.for({ client, project: "p", endsReads: true, signal: () => signal });
  const slow = "select pg_sleep(60)";
  const left = Array.from({ length: 4 }, () => t.rejects(of("a", leaving.signal).query(slow)));
  await waitFor(() => db.counts().purposes.reads.held === 4);
  // What they owe then is paid back in a minute: the rounds below end before, on a busy machine too.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  leaving.abort();
  await Promise.all(left);
  const sent = db.counts().cancelRequests;
  for (let round = 0; round < 20; round++) {
    const again = new AbortController();
    const one = of("a", again.signal);
    const asked = [
      t.rejects(one.query(slow)),
      one
        .stream(slow, [], { batch: 1 })
        .next()
        .catch(() => undefined),
    ];
    t.match(db.counts().purposes, { reads: { held: 0, waiting: 1 }, lists: { held: 0, waiting: 1 } });
    t.same(await of("b", again.signal).query("select 1 as one"), [{ one: 1 }]);
    again.abort();
    await Promise.all(asked);
  }
  t.equal(db.counts().cancelRequests, sent, "nothing had to be cancelled");
  t.equal(db.counts().waiting, 0);
  const stays = new AbortController();
  t.same(await of("a", stays.signal).query("select 1 as one"), [{ one: 1 }], "who stays is answered");
});
