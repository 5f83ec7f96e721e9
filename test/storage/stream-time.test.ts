import t from "tap";
import { Connections } from "../../src/storage/connections.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { streamRows } from "../../src/storage/row-stream.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** How long a stream may take: the limit of a statement is that of each batch. */

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 1_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await database.drop();
});

t.test("a stream may take longer than a statement", async (t) => {
  let rows = 0;
  const statement = "select i, pg_sleep(0.2) from generate_series(1, 15) i";
  for await (const batch of db.stream(statement, [], { batch: 1 })) rows += batch.length;
  t.equal(rows, 15);
});

t.test("a batch may not, and its statement ends", async (t) => {
  const slow = db.stream("select pg_sleep(60)", [], { batch: 1 });
  await t.rejects(slow.next(), { code: "57014" });
  const [row] = await db.query<{ n: number }>(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()",
  );
  t.equal(row?.n, 0);
});

t.test("the connection keeps the limit of a statement afterwards", async (t) => {
  for await (const _ of db.stream("select generate_series(1, 10)", [], { batch: 3 })) break;
  await t.rejects(db.query("select pg_sleep(60)"), { code: "57014" });
});

t.test(
  "one that cannot be continued is closed when its reader is slow again and again, and others wait",
  async (t) => {
    const own = openDatabase({
      ...database.at,
      connections: 2,
      statementTimeoutMs: 60_000,
      log: quietLog,
    });
    t.teardown(() => own.close());
    const statement = "select generate_series(1, 100000) as i";
    const slow = own.stream(statement, [], { batch: 1, timeoutMs: 1_000, patienceMs: 50 });
    const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
    for (let batch = 0; batch < 15; batch++) {
      t.equal((await slow.next()).done, false, "while nobody waits it may take its time");
      await pause();
    }
    t.equal(own.counts().purposes.lists.held, 1);
    // There is one place for lists.
    const other = own.stream(statement, [], { batch: 10 });
    t.equal((await other.next()).value?.length, 10, "the other one gets it");
    await t.rejects(slow.next(), /stalled/);
    await other.return();
    t.equal(own.counts().purposes.lists.held, 0);
  },
);

t.test("of connections that are watched", async (t) => {
  const connections = new Connections({
    ...database.at,
    connections: 4,
    statementTimeoutMs: 100,
    log: quietLog,
  });
  t.teardown(() => connections.close());
  const open = (signal?: AbortSignal) =>
    streamRows<{ i: number }>(connections, {
      text: "select generate_series(1, 3) as i",
      values: [],
      batch: 2,
      owner: { client: "a1", project: "p1" },
      signal,
      batchTimeoutMs: 100,
    });

  await t.test("one that waits for the turn of its first batch keeps its connection", async (t) => {
    const leave = await connections.batches.acquire({ owners: ["a1", "a1", "p1"] });
    const rows = open();
    const first = rows.next();
    // An answer of PostgreSQL would be expected within 5.1 s by now.
    setTimeout(leave, 7_000);
    t.match(await first, { value: [{ i: 1 }, { i: 2 }] });
    await rows.return();
  });

  await t.test("a batch that came as its reader left goes to nobody", async (t) => {
    const leaving = new AbortController();
    const { batches } = connections;
    const acquire = batches.acquire.bind(batches);
    t.teardown(() => {
      batches.acquire = acquire;
    });
    batches.acquire = async (request) => {
      const leave = await acquire(request);
      return () => {
        leave();
        leaving.abort();
      };
    };
    t.same(await open(leaving.signal).next(), { done: true, value: undefined });
    t.equal(connections.counts().purposes.lists.held, 0);
  });
});
