import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { checkPostgres } from "../../src/doctor/checks.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { Clusters } from "../support/clusters.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { type PgBouncer, type PoolMode, startDocumented, startPgBouncer } from "../support/pgbouncer.js";

/** Poolers and standbys in the place of the database: told at the start and by `doctor`, and nothing is served from them. */

const database = await freshDatabase();
t.teardown(() => database.drop());

/** Starts PgBouncer in front of the database. @returns the URL of the database behind it */
async function pooled(t: Test, mode: PoolMode, more = "", target = database.url): Promise<string> {
  const pooler: PgBouncer = await startPgBouncer(target, mode, more);
  t.teardown(() => pooler.stop());
  return pooler.url;
}

/** Why the server does not start there; undefined = it does. */
async function refusalOf(url: string, directUrl = ""): Promise<string | undefined> {
  const db = openDatabase({ url, directUrl, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
  try {
    await (await db.dedicated()).end();
    await db.requirePooler();
    return undefined;
  } catch (error) {
    const { cause = error } = error as Error;
    const { code, message } = cause as { code?: string; message: string };
    return code ?? message;
  } finally {
    await db.close();
  }
}

const foundBy = async (url: string, directUrl = "") =>
  (await checkPostgres(url, directUrl)).filter(({ ok }) => !ok);
const givesDirect = /Give the address of PostgreSQL itself as MAPWRIGHT_DATABASE_DIRECT_URL/;

t.test("PostgreSQL itself", async (t) => {
  t.equal(await refusalOf(database.url), undefined);
  t.same(await foundBy(database.url), []);
});

// What Debian's version takes no note of, administrators let it drop.
const drops = "ignore_startup_parameters = options";

for (const mode of ["transaction", "statement"] as const)
  t.test(`a pooler that hands out sessions by ${mode}`, async (t) => {
    const url = await pooled(t, mode, drops);
    for (let n = 0; n < 3; n++) t.match(await refusalOf(url), /a pooler hands out the sessions/);
    const [found] = await foundBy(url);
    t.match(found?.found, /a pooler hands out the sessions/);
    t.match(found?.advice, givesDirect);
  });

t.test("a pooler with several sessions, given out in turn, while others use them", async (t) => {
  const url = await pooled(t, "transaction", `${drops}\nserver_round_robin = 1\nmin_pool_size = 5`);
  const db = openDatabase({ url, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
  t.teardown(() => db.close());
  let isOver = false;
  // Nothing is known of its sessions: only what needs none can be asked.
  const use = async () => {
    while (!isOver) await db.query("select pg_sleep(0.001)").catch(() => undefined);
  };
  const users = [use(), use(), use()];
  for (let n = 0; n < 5; n++) t.match(await refusalOf(url), /a pooler hands out the sessions/);
  isOver = true;
  await Promise.all(users);
});

t.test("a pooler that drops the settings of sessions, or refuses them", async (t) => {
  t.match(await refusalOf(await pooled(t, "session", drops)), /drops the settings/);
  const [found] = await foundBy(await pooled(t, "session"));
  t.match(found?.found, /unsupported startup parameter: options/);
  t.match(found?.advice, /A pooler refuses the settings of sessions/);
});

for (const mode of ["transaction", "session"] as const)
  t.test(`a pooler that hands out sessions by ${mode}, and the address past it`, async (t) => {
    const url = await pooled(t, mode);
    t.equal(await refusalOf(url, database.url), undefined);
    t.same(await foundBy(url, database.url), []);
  });

t.test("a pooler with the settings that the documentation gives", async (t) => {
  const ini = readFileSync("config/pgbouncer/pgbouncer.ini", "utf8");
  const pooler = await startDocumented(ini, database.url);
  t.teardown(() => pooler.stop());
  t.equal(await refusalOf(pooler.url, database.url), undefined);
  t.same(await foundBy(pooler.url, database.url), []);
});

t.test("a pooler that hands out sessions by statement, and the address past it", async (t) => {
  const url = await pooled(t, "statement");
  t.match(await refusalOf(url, database.url), /for a statement each/);
  t.match(await foundBy(url, database.url), [
    { name: "pooler", found: /for a statement each/, advice: /pool_mode = transaction/ },
  ]);
});

t.test("an address past the pooler that leads to one", async (t) => {
  const url = await pooled(t, "transaction");
  const other = await pooled(t, "transaction", drops);
  t.match(await refusalOf(url, other), /where MAPWRIGHT_DATABASE_DIRECT_URL leads, a pooler/);
  t.match(await foundBy(url, other), [
    { advice: "Let MAPWRIGHT_DATABASE_DIRECT_URL lead to PostgreSQL itself." },
  ]);
});

t.test("an address past the pooler that leads to another database, or another server", async (t) => {
  const url = await pooled(t, "transaction");
  const other = await freshDatabase();
  t.teardown(() => other.drop());
  const clusters = new Clusters();
  t.teardown(() => clusters.stop());
  const cluster = await clusters.create();
  for (const elsewhere of [other.url, `postgresql://postgres@127.0.0.1:${cluster.port}/postgres`]) {
    t.match(await refusalOf(url, elsewhere), /DATABASE_URL leads to another server, or another database/);
    t.match((await foundBy(url, elsewhere)).at(-1), {
      name: elsewhere === other.url ? "pooler" : /./,
      advice: /./,
    });
  }
});

t.test("a pooler that is away", async (t) => {
  t.equal(await refusalOf("postgresql://127.0.0.1:1/none", database.url), "ECONNREFUSED");
  t.match(await foundBy("postgresql://127.0.0.1:1/none", database.url), [
    { name: "pooler", found: /cannot be used/ },
  ]);
});

t.test("a standby in the place of the primary", async (t) => {
  const clusters = new Clusters();
  t.teardown(() => clusters.stop());
  const primary = await clusters.create();
  const standby = await (await primary.baseBackup({ standby: true })).start();
  const url = `postgresql://postgres@127.0.0.1:${standby.port}/postgres`;
  t.match(await refusalOf(url), /the server is a standby/);
  const [found] = await foundBy(url);
  t.match(found?.found, /the server is a standby/);
  t.equal(found?.advice, "Let DATABASE_URL lead to the primary.");
  const before = `postgresql://postgres@127.0.0.1:${primary.port}/postgres`;
  t.match(
    await refusalOf(await pooled(t, "transaction", "", url), before),
    /DATABASE_URL leads to another server/,
  );
});
