import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Rows of many bytes after rows of few: what is in memory of them does not depend on how many were asked for. */

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 30_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await database.drop();
});

const [small, large] = [3_000, 102];
const bytes = 2_000_000;
/** Of a batch. */
const most = 8 * 1024 ** 2 + bytes;
const all = small + large;

interface Row {
  readonly i: number;
  readonly o: string;
}
const rows = (signal?: AbortSignal, batch = 2_000, last = all) =>
  db.stream<Row>(
    "select i, repeat('x', case when i <= $1 then 10 else $2 end) || (1 / ($4 - i))::text as o from generate_series(1, $3::int) i",
    [small, bytes, last, all + 1],
    { batch, ...(signal && { signal }) },
  );
const sizeOf = (batch: readonly Row[]) => batch.reduce((sum, { o }) => sum + o.length, 0);
const released = () => waitFor(() => db.counts().idle === db.counts().total);
const isIdle = async () => {
  const running = await db.query(
    "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'active'",
  );
  return running.length === 0;
};

t.test("all come, in order, and never more than some megabytes at once", async (t) => {
  // Of 100 rows and of one, the last of what was asked for comes as the bound is reached, too.
  for (const [batch, last] of [
    [2_000, all],
    [50, small + 50],
    [5, small + 20],
  ] as const) {
    let [count, before, largest] = [0, 0, 0];
    for await (const found of rows(undefined, batch, last)) {
      for (const { i } of found) {
        if (i !== before + 1) t.fail(`${i} comes after ${before}`);
        before = i;
      }
      count += found.length;
      largest = Math.max(largest, sizeOf(found));
    }
    t.equal(count, last);
    t.ok(largest <= most, `${largest} bytes`);
    await released();
  }
});

t.test("whoever stops, leaves or stalls amid them gives the connection back", async (t) => {
  const leaving = new AbortController();
  for (const end of [
    async (stream: AsyncIterableIterator<Row[]>) => void (await stream.return?.()),
    async (stream: AsyncIterableIterator<Row[]>) => {
      leaving.abort();
      await sleep(10);
      await stream.return?.();
    },
  ]) {
    const stream = rows(leaving.signal);
    for (;;) {
      const value: Row[] = (await stream.next()).value ?? [];
      if (value.length < 2_000 && sizeOf(value) > bytes) break;
    }
    await end(stream);
    await released();
    t.ok(await isIdle());
  }
  t.same(await db.query("select 1 as one"), [{ one: 1 }]);
  t.equal(db.counts().total, 1, "none was closed");
});

t.test("a reader who takes as long as he may finds the rest", async (t) => {
  let count = 0;
  for await (const found of rows()) {
    count += found.length;
    // PostgreSQL gives up a machine that takes nothing for 20 s.
    if (count > small && count <= small + found.length) await sleep(25_000);
  }
  t.equal(count, all);
  // Sessions of a pooler have nothing of ours.
  const after = db.isPooled ? "0" : "20000";
  t.same(await db.query("select current_setting('tcp_user_timeout') as after"), [{ after }]);
});

t.test("a failure amid them is told after the rows before it", async (t) => {
  let count = 0;
  const { cancelRequests } = db.counts();
  await t.rejects(
    async () => {
      for await (const found of rows(undefined, 2_000, all + 1)) count += found.length;
    },
    { code: "22012" },
  );
  t.ok(count > small && count <= all, `${count} came`);
  await released();
  t.equal(db.counts().cancelRequests, cancelRequests, "nothing is left that could be cancelled");
});
