import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { longTransaction } from "../../src/import/cancellable.js";
import { lockStaging, sweepStaging } from "../../src/import/staging.js";
import type { Database, Queryable } from "../../src/storage/postgres.js";
import { StagingTable } from "../../workers/transfer/staging.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";

const bench = await importBench();
t.teardown(() => bench.stop());

const big = () => {
  const filler = "x".repeat(500);
  return collection(...Array.from({ length: 60_000 }, (_, i) => feature({ i, filler }, point(i / 1000, 1))));
};

/** Waits until a query has a row. */
async function until(text: string): Promise<void> {
  while ((await bench.db.query(text)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
const stagingTables = "select 1 from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'";

t.test("a transfer host that is killed in mid-import leaves the layer as it was", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const before = await bench.state(layer);
  const failing = failureOf(bench.import(layer, big(), { action: "replace" }));
  await until(stagingTables);
  process.kill(bench.transfer.pid!, "SIGKILL");
  t.match(await failing, { code: "busy", message: /the process that read it was killed/ });
  t.equal(await bench.state(layer), before);
  t.match(await bench.import(layer, collection(feature({ a: 2 }))), { inserted: 1 }, "the next import works");
});

t.test("a database connection that is cut in mid-import leaves the layer as it was", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const before = await bench.state(layer);
  const failing = failureOf(bench.import(layer, big(), { action: "replace" }));
  await until(stagingTables);
  await until(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy staging.%' and datname = current_database()",
  );
  t.match(await failing, { code: "busy", message: /connection to the database was lost; nothing was done/ });
  t.equal(await bench.state(layer), before);
});

t.test("readers see the old objects until the new ones are all there", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const seen = new Set<number>();
  let done = false;
  const importing = bench.import(layer, big(), { action: "replace" }).finally(() => {
    done = true;
  });
  while (!done) {
    const [row] = await bench.db.query<{ count: number }>(`select count(*) as count from layers.l${layer}`);
    seen.add(row!.count);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await importing;
  seen.delete(60_000);
  t.strictSame([...seen], [1]);
});

t.test("the sweep removes what dead imports left and spares a running one", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const before = await bench.state(layer);
  await bench.db.execute("create unlogged table staging.idead_1_abcd (row bigint)");
  await bench.db.execute(`alter table layers.l${layer} add column c999999 text`);
  const running = await lockStaging(bench.db);
  await bench.db.execute(`create unlogged table staging.${running.table} (row bigint)`);
  t.strictSame(await sweepStaging(bench.db), ["staging.idead_1_abcd", `layers.l${layer}.c999999`]);
  await running.release();
  t.equal(await bench.state(layer), before);
  t.strictSame(await sweepStaging(bench.db), []);
});

t.test("a layer that is deleted during an import is not found", async (t) => {
  const layer = await bench.layer();
  const failing = failureOf(bench.import(layer, big()));
  await until(stagingTables);
  await bench.db.execute("delete from node where id = $1", [layer]);
  t.match(await failing, { message: /There is no layer/ });
  t.strictSame(await bench.db.query(stagingTables), []);
});

/** The database, as one where `meanwhile` happens while a transaction sets its timeout. */
const asking = (meanwhile: () => void): Database =>
  Object.create(bench.db, {
    transaction: {
      value: (work: (tx: Queryable) => Promise<unknown>) =>
        bench.db.transaction((tx) => {
          const execute = async (text: string, values?: readonly unknown[]) => {
            if (text.includes("statement_timeout")) meanwhile();
            return tx.execute(text, values);
          };
          return work(Object.create(tx, { execute: { value: execute } }) as Queryable);
        }),
    },
  }) as Database;

t.test("a transaction that is cancelled before its first statement does no work", async (t) => {
  const controller = new AbortController();
  const limits = { timeoutMs: 10_000, signal: controller.signal };
  const db = asking(() => controller.abort(new Error("cancelled by the test")));
  let worked = false;
  const ended = longTransaction(db, limits, async () => {
    worked = true;
  });
  await t.rejects(ended, { message: "cancelled by the test" });
  t.notOk(worked);
});

t.test("an import that is cancelled when it begins to wait for a layer does not wait", async (t) => {
  const holder = await lockStaging(bench.db);
  const waiting = await lockStaging(bench.db);
  await holder.lockLayer(1);
  const controller = new AbortController();
  const ended = failureOf(waiting.lockLayer(1, controller.signal));
  controller.abort(new Error("cancelled by the test"));
  t.match(await Promise.race([ended, sleep(5_000, "waits", { ref: false })]), {
    message: "cancelled by the test",
  });
  await holder.release();
  await waiting.release();
});

t.test("a staging table that cannot be created leaves no connection open", async (t) => {
  // Other databases of the server have other tests.
  const connections =
    "select from pg_stat_activity where application_name = 'mapwright transfer' and datname = current_database()";
  // PostgreSQL takes a moment to end a session, also those of the tests before.
  const open = async () => {
    const deadline = Date.now() + 5_000;
    for (;;) {
      const { length } = await bench.db.query(connections);
      if (length === 0 || Date.now() > deadline) return length;
      await sleep(20);
    }
  };
  t.equal(await open(), 0);
  await bench.db.execute("create table staging.i1 ()");
  await t.rejects(StagingTable.create(bench.db.address, "i1"), { code: "42P07" });
  t.equal(await open(), 0);
  await bench.db.execute("drop table staging.i1");
});
