import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { SingleTransaction } from "../../src/storage/single-transaction.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";

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
