import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { openRedis } from "../../src/storage/redis.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { startNoting } from "../support/listening.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { startServer, waitFor } from "../support/server.js";

/** Nobody waits for ever for a database, or a Redis, that takes connections and says nothing. */

/** Whether it has ended within that time. */
const endsWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), ms).unref()),
  ]);

t.test("a node stops", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const links = [await DatabaseLink.to(database.url), await DatabaseLink.to(testRedisUrl())] as const;
  t.teardown(() => Promise.all(links.map((link) => link.close())));
  const hook = await startNoting();
  t.teardown(() => hook.stop());
  const server = await startServer({
    databaseUrl: links[0].url,
    config: { redisUrl: links[1].url, "edge.kind": "hook", "edge.urls": [hook.url] },
  });
  const { services } = server.nodes[0]!;
  await waitFor(() => hook.sent.length > 0);
  void services.db.transaction(async (tx) => tx.query("select pg_sleep(600)")).catch(() => undefined);
  for (const link of links) link.swallow();
  services.search.reconsider();
  t.ok(await endsWithin(30_000, server.nodes[0]!.stop(1_000)));
  await endsWithin(5_000, server.sql.end());
});

t.test("nothing piles up for a Redis that says nothing, and it is used again when it answers", async (t) => {
  const link = await DatabaseLink.to(testRedisUrl());
  const redis = openRedis(link.url, quietLog);
  t.teardown(async () => {
    redis.disconnect();
    await link.close();
  });
  const key = `${freshPrefix()}piles`;
  await redis.connect();
  await redis.set(key, "1");
  link.swallow();
  const refused = await waitForRefusal(() => redis.set(key, Buffer.alloc(10_000)));
  t.match(refused.message, /does not answer|writeable|closed/i, "it is not waited for any more");
  await waitFor(() => redis.status !== "ready");
  link.restore();
  await waitFor(() => redis.trouble === undefined);
  t.equal(await redis.get(key), "1");
  await redis.del(key);
});

/** Sends commands until one is refused because there is no connection. @returns the reason */
async function waitForRefusal(send: () => Promise<unknown>): Promise<Error> {
  let refused: Error | undefined;
  const note = (error: Error) => {
    if (!/timed out/.test(error.message)) refused = error;
  };
  await waitFor(() => {
    send().catch(note);
    return refused !== undefined;
  });
  return refused!;
}

t.test("a connection of its own is refused in time, and its loss is noticed", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const link = await DatabaseLink.to(database.url);
  t.teardown(() => link.close());
  const db = openDatabase({ url: link.url, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  const client = await db.dedicated();
  const lost = new Promise((resolve) => client.once("end", () => resolve(true)));
  link.swallow();
  await t.rejects(db.dedicated(), { code: "busy", cause: /timeout/ });
  t.ok(await endsWithin(25_000, lost), "nobody has asked it for anything");
  t.ok(await endsWithin(10_000, db.close()));
});

t.test(
  "a server that falls silent between a connection and what is asked first is not waited for",
  async (t) => {
    const database = await freshDatabase();
    t.teardown(() => database.drop());
    const link = await DatabaseLink.to(database.url);
    t.teardown(() => link.close());
    const db = openDatabase({ url: link.url, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
    t.teardown(() => db.close());
    link.silenceAt("pg_backend_pid");
    const refused = db.dedicated().then(
      () => undefined,
      ({ code }: { readonly code?: unknown }) => code,
    );
    t.ok(await endsWithin(15_000, refused));
    // Whoever still waits for it would keep the test from ending.
    link.cut();
    t.equal(await refused, "busy");
    link.restore();
    const client = await db.dedicated();
    t.equal((await client.query("select")).rowCount, 1);
    await client.end();
  },
);

t.test("each session that is opened has the settings that end it when its process is gone", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const db = openDatabase({ ...database.at, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  t.teardown(() => db.close());
  const own = await db.dedicated();
  t.teardown(() => own.end());
  const read = `select name, setting from pg_settings where name in (
    'client_connection_check_interval', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`;
  // Those of transactions behind a pooler have what a transaction can have: the rest is between it and the server.
  for (const [rows, idle, check] of [
    [await db.query<{ name: string; setting: string }>(read), "0", db.isPooled ? "0" : "5000"],
    [(await own.query<{ name: string; setting: string }>(read)).rows, "20000", "5000"],
  ] as const)
    t.same(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
      client_connection_check_interval: check,
      idle_in_transaction_session_timeout: "20000",
      idle_session_timeout: idle,
    });
  // Sessions of hosts cannot be asked.
  for (const folder of ["src", "workers"])
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      for (const [, opened] of readFileSync(join(folder, name), "utf8").matchAll(
        /new pg\.(?:Client|Pool)\(\{([\s\S]*?)\}\);/g,
      )) {
        t.match(opened, /options: (sessionOptions\(|this\.options\.settings)/, `${name}: of the server`);
        t.match(opened, /\.\.\.keptAlive/, `${name}: of the client`);
      }
    }
});
