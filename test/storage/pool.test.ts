import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** A pool whose connections are all in use. */

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
