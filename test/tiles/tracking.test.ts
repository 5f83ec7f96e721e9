import pg from "pg";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { openRedis } from "../../src/storage/redis.js";
import { ChangeLog } from "../../src/tiles/changes.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";

/** A node's knowledge of a layer that changes while it is read for the first time. */

const database = await freshDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
const db = openDatabase({ url: database.url, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();

/** A database whose answers to the reader of versions come late: what is committed meanwhile is not in them. */
let late: Promise<void> | undefined;
const slowDb = new Proxy(db, {
  get: (target, name) =>
    name !== "query"
      ? (Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name))
      : async (...args: Parameters<typeof db.query>) => {
          const rows = await target.query(...args);
          await late;
          return rows;
        },
});
const changes = new ChangeLog({
  db: slowDb,
  redis,
  redisPrefix: freshPrefix(),
  log: quietLog,
  listener: { projectChanged: () => undefined, mapChanged: () => undefined, purged: () => undefined },
});
await changes.start();
t.teardown(async () => {
  await changes.stop();
  redis.disconnect();
  await db.close();
  await client.end();
  await database.drop();
});

const insert = (table: string) =>
  client.query(`insert into ${table} (geom) values (st_setsrid(st_point(1, 1), 4326))`);
const version = async (id: number) =>
  Number((await client.query("select version from layer where id = $1", [id])).rows[0].version);

t.test("a change that is announced while a layer is read is not missed", async (t) => {
  const { layerId, table } = await makeLayer(client);
  let arrive = () => {};
  late = new Promise((resolve) => {
    arrive = resolve;
  });
  const tracked = changes.track([layerId]);
  const again = changes.track([layerId]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await insert(table);
  await new Promise((resolve) => setTimeout(resolve, 100));
  arrive();
  late = undefined;
  const [layer] = await tracked;
  t.equal(layer!.version, await version(layerId));
  t.equal((await again)[0], layer, "whoever asks meanwhile gets the same");
});

t.test("an edit that is settled while a layer is read is known when settling ends", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await changes.stop();
  let arrive = () => {};
  late = new Promise((resolve) => {
    arrive = resolve;
  });
  const tracked = changes.track([layerId]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await insert(table);
  const settled = changes.settle({ layers: [layerId] });
  arrive();
  late = undefined;
  await settled;
  t.equal((await tracked)[0]!.version, await version(layerId));
});
