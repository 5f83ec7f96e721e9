import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { checkPostgres } from "../../src/commands/checks.js";
import { handOver, inheritedFolder, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { Clusters, freePort } from "../support/clusters.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Poolers and standbys in the place of the database: told at the start and by `doctor`, and nothing is served from them. */

const database = await freshDatabase();
t.teardown(() => database.drop());

/** Starts PgBouncer in front of the database. @returns the URL of the database behind it */
async function pooled(t: Test, mode: "transaction" | "session" | "statement", more = ""): Promise<string> {
  const account = serviceAccount(["postgres"]);
  const folder = mkdtempSync(join(tmpdir(), "mapwright-pooler-"));
  handOver(folder, account);
  const target = new URL(database.url);
  const name = target.pathname.slice(1);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
${name} = host=${target.searchParams.get("host") ?? target.hostname} port=${target.searchParams.get("port") ?? target.port} user=${target.username} password=${target.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${more}
`,
  );
  handOver(file, account);
  // Its account may lack access to parent folders.
  const opened = openSync(folder, "r");
  const child = spawn("pgbouncer", [`${inheritedFolder}/pgbouncer.ini`], {
    ...spawnOptions(account),
    stdio: ["ignore", "ignore", "ignore", opened],
  });
  closeSync(opened);
  t.teardown(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  });
  const url = `postgresql://${target.username}@127.0.0.1:${port}/${name}`;
  await waitFor(async () => (await refusalOf(url)) !== "ECONNREFUSED");
  return url;
}

/** Why a session for locks and notifications is refused; undefined = it is not. */
async function refusalOf(url: string): Promise<string | undefined> {
  const db = openDatabase({ url, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
  try {
    await (await db.dedicated()).end();
    return undefined;
  } catch (error) {
    const { cause = error } = error as Error;
    const { code, message } = cause as { code?: string; message: string };
    return code ?? message;
  } finally {
    await db.close();
  }
}

const foundBy = async (url: string) => (await checkPostgres(url)).filter(({ ok }) => !ok);

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
    t.equal(found?.advice, "Connect to PostgreSQL itself, or past the pooler.");
  });

t.test("a pooler with several sessions, given out in turn, while others use them", async (t) => {
  const url = await pooled(t, "transaction", `${drops}\nserver_round_robin = 1\nmin_pool_size = 5`);
  const db = openDatabase({ url, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
  t.teardown(() => db.close());
  let isOver = false;
  const use = async () => {
    while (!isOver) await db.query("select pg_sleep(0.001)");
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
});
