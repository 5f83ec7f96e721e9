import { availableParallelism } from "node:os";
import t from "tap";
import { mostSlowOf } from "../../src/storage/connection-slots.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { SingleTransaction } from "../../src/storage/single-transaction.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** A pool whose connections are all in use, or of no use. */

t.test("who gets no connection in time is told that there is no room", async (t) => {
  const { url, drop } = await freshDatabase();
  const db = openDatabase({ url, connections: 2, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await drop();
  });
  const leaving = new AbortController();
  const held = [1, 2].map(() =>
    t.rejects(db.query("select pg_sleep(60)", [], { signal: leaving.signal }), { code: "57014" }),
  );
  const lookup = { text: "select x as k from unnest($1::bigint[]) x", values: [] };
  await Promise.all(
    [
      db.query("select 1"),
      db.query("select 1", [], { prepare: true }),
      db.execute("select 1"),
      db.transaction(async (tx) => tx.query("select 1")),
      db.stream("select 1", [], { batch: 10 }).next(),
      db.lookup(lookup, 1),
      db.lookup(lookup, 2),
    ].map((waiting: Promise<unknown>) => t.rejects(() => waiting as Promise<object>, { code: "busy" })),
  );
  leaving.abort();
  await Promise.all(held);
  t.same(await db.query("select 1 as one"), [{ one: 1 }], "and the pool is whole");
});

t.test("PostgreSQL works on a few lists of one client at once, and on another's beside them", async (t) => {
  const { url, drop } = await freshDatabase();
  const connections = 16;
  const db = openDatabase({ url, connections, statementTimeoutMs: 60_000, log: quietLog });
  const other = await db.dedicated();
  t.teardown(async () => {
    await other.end();
    await db.close();
    await drop();
  });
  await other.query("select pg_advisory_lock(7)");
  const most = mostSlowOf(connections, availableParallelism());
  const read = (client: string, text: string) =>
    db.for({ client, project: "p" }).stream<{ n: number }>(text, [], { batch: 10 }).next();
  const lists = Array.from({ length: most + 3 }, () =>
    read("hostile", "select 1 as n, pg_advisory_xact_lock_shared(7)"),
  );
  const waiting = async () =>
    (await other.query("select from pg_locks where locktype = 'advisory' and not granted")).rowCount ?? 0;
  await waitFor(async () => (await waiting()) >= most);
  t.equal((await read("other", "select 1 as n")).value?.[0]?.n, 1);
  t.equal(await waiting(), most);
  await other.query("select pg_advisory_unlock(7)");
  for (const { value } of await Promise.all(lists)) t.equal(value?.[0]?.n, 1, "the others have their turns");
});

t.test("a transaction is watched again when a part that had more time is done", async (t) => {
  const { url, drop } = await freshDatabase();
  const link = await DatabaseLink.to(url);
  const db = openDatabase({ url: link.url, connections: 1, statementTimeoutMs: 500, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await link.close();
    await drop();
  });
  const request = new SingleTransaction(db, async () => undefined);
  await request.transaction((tx) => tx.execute("set local statement_timeout = '10min'"));
  link.silence();
  const deadline = new Promise((resolve) => setTimeout(() => resolve("still waiting"), 20_000).unref());
  const answer = request.query("select 1").catch(({ message }: Error) => message);
  t.match(await Promise.race([answer, deadline]), /^Connection terminated/);
  t.equal(((await request.undo(new Error("given up"))) as Error).message, "given up");
});

t.test("a connection that was lost before a statement came to it is told as lost", async (t) => {
  const { url, drop } = await freshDatabase();
  const link = await DatabaseLink.to(url);
  const db = openDatabase({ url: link.url, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(async () => {
    await db.close();
    await link.close();
    await drop();
  });
  const work = db.transaction(async (tx) => {
    link.cut();
    // This one hears of it.
    await tx.query("select 1").catch(() => undefined);
    await tx.query("select 2");
  });
  await t.rejects(work, { code: "busy" });
  link.restore();
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
});
