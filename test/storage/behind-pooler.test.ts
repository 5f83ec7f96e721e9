import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { lockWaiters } from "../support/locks.js";
import { quietLog } from "../support/log.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { waitFor } from "../support/server.js";

/** Statements through PgBouncer in transaction mode, whose few sessions are each transaction's anew. */

const database = await freshDatabase();
const pooler = await startPgBouncer(database.url, "transaction", "default_pool_size = 3");
const db = openDatabase({
  url: pooler.url,
  directUrl: database.url,
  nodeId: "node-1",
  connections: 8,
  statementTimeoutMs: 7_000,
  log: quietLog,
});
t.teardown(async () => {
  await db.close();
  await pooler.stop();
  await database.drop();
});

interface Settings {
  readonly path: string;
  readonly timeout: string;
  readonly node: string;
}
const settings = `select current_setting('search_path') as path, current_setting('statement_timeout') as timeout,
  current_setting('mapwright.node', true) as node`;
const wanted: Settings = { path: "mapwright,public", timeout: "7s", node: "node-1" };
/** A session may be one that nobody has set anything in. */
const many = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 40 }, work));

t.test("each statement has its settings, alone and in a transaction", async (t) => {
  for (const rows of await many(() => db.query<Settings>(settings, [], { prepare: true })))
    t.same(rows, [wanted]);
  for (const rows of await many(() => db.write<Settings>(`${settings} where $1 = 1`, [1], { prepare: true })))
    t.same(rows, [wanted]);
  for (const [rows, after] of await many(() =>
    db.transaction(async (tx) => {
      await tx.execute("set local statement_timeout = '1s'");
      const inside = await tx.query<Settings>(settings);
      await tx.execute("set local statement_timeout to default");
      return [inside, await tx.query<Settings>(settings)] as const;
    }),
  )) {
    t.same(rows, [{ ...wanted, timeout: "1s" }]);
    t.same(after, [wanted]);
  }
});

t.test("nothing is left in a session, and nothing has a name there", async (t) => {
  const { default: pg } = await import("pg");
  const found = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new pg.Client({ connectionString: pooler.url });
      await client.connect();
      await client.query("begin");
      const { rows } = await client.query(
        `select current_setting('mapwright.node', true) as node, (select count(*)::int from pg_prepared_statements) as named,
           current_setting('default_transaction_read_only') as readonly, pg_sleep(0.2)`,
      );
      await client.end();
      return rows[0] as object;
    }),
  );
  for (const row of found) t.match(row, { named: 0, readonly: "off" });
  for (const row of found) t.notMatch(row, { node: "node-1" });
});

t.test("errors are those of the statement", async (t) => {
  await t.rejects(db.query("select 1 / 0"), { code: "22012" });
  await t.rejects(db.execute("insert into nothing values ($1)", [1]), { code: "42P01" });
  await t.rejects(
    db.transaction((tx) => tx.execute("select 1 / 0")),
    { code: "22012" },
  );
  // As a foreign table has it whose server is away.
  await t.rejects(db.execute("do $$ begin raise exception using errcode = '08001'; end $$"), {
    code: "08001",
  });
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
});

t.test("long results come in batches, and are left early", async (t) => {
  const text = "select n, repeat('x', 1000) as x from generate_series(1, 3000) n order by n";
  const counts = await Promise.all(
    Array.from({ length: 6 }, async () => {
      let count = 0;
      for await (const rows of db.stream(text, [], { batch: 100 })) count += rows.length;
      return count;
    }),
  );
  t.same(counts, Array(6).fill(3_000));
  for (let n = 0; n < 6; n++)
    for await (const rows of db.stream(text, [], { batch: 10 })) {
      t.equal(rows.length, 10);
      break;
    }
  let bytes = 0;
  for await (const { chunks } of db.streamBytes(
    "select repeat('y', 1000) from generate_series(1, 3000)",
    [],
    {
      separator: ",",
    },
  ))
    bytes += chunks.reduce((sum, { length }) => sum + length, 0);
  t.equal(bytes, 3_000 * 1_001 - 1);
  await t.rejects(
    (async () => {
      for await (const _ of db.stream("select 1 / (n - 5) from generate_series(1, 10) n", [], { batch: 2 }));
    })(),
    { code: "22012" },
  );
  t.equal((await many(() => db.query("select 1"))).length, 40);
});

t.test("a statement is cancelled, and nobody else's", async (t) => {
  const controller = new AbortController();
  const { signal } = controller;
  const cancelled = [1, 2].map(() => t.rejects(db.query("select pg_sleep(30)", [], { signal })));
  // The one session that is left is the others'.
  const others = [many(() => db.query("select pg_sleep(0.02)"))];
  await others[0];
  others.push(many(() => db.query("select pg_sleep(0.02)")));
  controller.abort();
  await Promise.all(cancelled);
  await t.resolves(Promise.all(others));
  t.equal(db.counts().cancelRequests >= 2, true);
});

t.test("work whose locks are lost does nothing more, and one lock has one owner", async (t) => {
  const [one, other] = [await db.working(), await db.working()];
  t.teardown(() => Promise.all([one.end(), other.end()]));
  let lost = 0;
  one.onLost(() => {
    lost++;
  });
  t.equal(await one.tryLock("$1::bigint", [4_711]), true);
  t.equal(await other.tryLock("$1::bigint", ["4711"]), false, "a number is the same as its text");
  const running = one.query("select pg_sleep(60)");
  running.catch(() => undefined);
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  // The connection that has the locks, as when its way to the server is lost.
  await client.query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4711",
  );
  await client.end();
  await t.rejects(running, { code: "57014" }, "what runs is cancelled");
  await t.rejects(one.query("select 1"), { message: /./ }, "somebody else may have its locks by now");
  t.ok(lost > 0);
  t.same((await other.query("select 1 as one")).rows, [{ one: 1 }], "one that had none goes on");
  t.equal(await other.tryLock("$1::bigint", [4_711]), true);
});

t.test("of many works that lose their locks none goes on, nor one that waits for a session", async (t) => {
  // One more than the pooler has sessions.
  const works = await Promise.all(Array.from({ length: 4 }, () => db.working()));
  t.teardown(() => Promise.all(works.map((work) => work.end())));
  for (const [index, work] of works.entries())
    t.equal(await work.tryLock("$1::bigint", [4_720 + index]), true);
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  t.teardown(() => client.end());
  const running = works.map((work) => t.rejects(work.query("select pg_sleep(60)"), { code: "57014" }));
  await waitFor(
    async () =>
      (
        await client.query(
          "select from pg_stat_activity where datname = current_database() and state = 'active' and query = 'select pg_sleep(60)'",
        )
      ).rowCount === 3,
  );
  await client.query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4720",
  );
  await Promise.all(running);
});

t.test(
  "a statement that no transaction may have around it has the settings of its work, and can be cancelled",
  async (t) => {
    const { default: pg } = await import("pg");
    const work = await db.working();
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    t.teardown(() => Promise.all([work.end(), holder.end()]));
    await holder.query("create table public.held (id int)");
    await holder.query("begin; lock table public.held");
    const create = "create index concurrently on public.held (id)";
    await work.set({ lock_timeout: "100ms" });
    await t.rejects(work.alone(create), { code: "55P03" });
    await work.set({ lock_timeout: "1min" });
    const waiting = work.alone(create);
    waiting.catch(() => undefined);
    await lockWaiters(holder);
    await work.cancel();
    await t.rejects(waiting, { code: "57014" });
    await holder.query("rollback; drop table public.held");

    await holder.query("create table public.named (name text)");
    // Its class of operators lies in the program's own schema.
    await work.alone("create index concurrently on public.named using gin (name gin_trgm_ops)");
    const { rows } = await holder.query(
      "select indisvalid from pg_index where indrelid = 'public.named'::regclass",
    );
    t.same(rows, [{ indisvalid: true }]);
    await holder.query("drop table public.named");
  },
);

t.test("a pooler that leads elsewhere costs the connections that meet it, and no others", async (t) => {
  const own = await startPgBouncer(database.url, "transaction");
  const other = await freshDatabase();
  const moving = openDatabase({
    url: own.url,
    directUrl: database.url,
    connections: 6,
    statementTimeoutMs: 7_000,
    log: quietLog,
  });
  t.teardown(async () => {
    await moving.close();
    await own.stop();
    await other.drop();
  });
  await Promise.all(Array.from({ length: 6 }, () => moving.write("select pg_sleep(0.3)")));
  const { total } = moving.counts();
  own.change("transaction", "", other.url);
  await waitFor(() =>
    moving.query("select 1").then(
      () => false,
      () => true,
    ),
  );
  t.equal(moving.counts().total, total - 2, "it was tried twice");
});
