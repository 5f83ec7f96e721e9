import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pg from "pg";
import t from "tap";
import { ChangeLog } from "../../src/changes/change-log.js";
import { ChangeCount } from "../../src/changes/count.js";
import { systemClock } from "../../src/clock.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { openRedis } from "../../src/storage/redis.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";

/** A node's knowledge of a layer that changes while it is read for the first time. */

const database = await freshDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
const nodeId = "n1";
const db = openDatabase({
  ...database.at,
  nodeId,
  connections: 4,
  statementTimeoutMs: 10_000,
  log: quietLog,
});
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
  nodeId,
  count: new ChangeCount(),
  clock: systemClock,
  log: quietLog,
  listener: {
    projectChanged: () => undefined,
    mapChanged: () => undefined,
    historyChanged: () => undefined,
    purged: () => undefined,
    imported: () => undefined,
  },
});
await changes.start();
t.teardown(async () => {
  await changes.stop();
  redis.disconnect();
  await db.close();
  await client.end();
  await database.drop();
});

setFlagsFromString("--expose-gc");
const freeMemory = runInNewContext("gc") as () => void;

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

t.test("an edit is known when its propagation ends, also to a layer that was being read", async (t) => {
  const { layerId, table } = await makeLayer(client);
  let arrive = () => {};
  late = new Promise((resolve) => {
    arrive = resolve;
  });
  const tracked = changes.track([layerId]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await insert(table);
  await changes.propagate();
  arrive();
  late = undefined;
  t.equal((await tracked)[0]!.version, await version(layerId));
});

t.test("a transaction of the node's own is known by its receipt", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const [layer] = await changes.track([layerId]);
  for (let round = 0; round < 20; round++) {
    const [row] = await db.query<{ receipt: string }>(
      `insert into ${table} (geom) values (null) returning pg_current_xact_id()::text as receipt`,
    );
    await changes.propagate(row!.receipt);
    t.equal(layer!.version, await version(layerId));
  }
});

t.test("a layer that nobody holds any more is forgotten, one that is held is not", async (t) => {
  const held = await makeLayer(client);
  const dropped = await makeLayer(client);
  const [layer] = await changes.track([held.layerId]);
  const gone = new WeakRef((await changes.track([dropped.layerId]))[0]!);
  await waitFor(() => {
    freeMemory();
    return gone.deref() === undefined;
  });
  await insert(held.table);
  await insert(dropped.table);
  await changes.propagate();
  t.equal(layer!.version, await version(held.layerId));
  const [again] = await changes.track([dropped.layerId]);
  t.equal(again!.version, await version(dropped.layerId));
});
