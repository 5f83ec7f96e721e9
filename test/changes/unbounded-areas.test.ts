import pg from "pg";
import t from "tap";
import { readLayers } from "../../src/changes/history.js";
import { LayerVersion } from "../../src/changes/layer-version.js";
import { channel, parseNotification } from "../../src/changes/notification.js";
import type { MercatorBox } from "../../src/geo/tile.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";

/** Changes at coordinates that are no numbers, or infinite, as clients of the database can write them. */

const database = await freshDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
const db = openDatabase({
  ...database.at,
  nodeId: "n1",
  connections: 2,
  statementTimeoutMs: 10_000,
  log: quietLog,
});
t.teardown(async () => {
  await db.close();
  await client.end();
  await database.drop();
});

const somewhere: MercatorBox = [1e6, 1e6, 2e6, 2e6];
const point = (x: string, y: string) => `st_setsrid(st_makepoint('${x}', '${y}'), 4326)`;

t.test("a change without a place is one everywhere, for who is told of it and who reads it", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const told: string[] = [];
  client.on("notification", ({ payload }) => told.push(payload ?? ""));
  await client.query(`listen ${channel}`);
  const many = `select st_setsrid(st_point(n, 60), 4326) from generate_series(1, 30) n union all select`;
  for (const geometries of [
    `select ${point("NaN", "NaN")}`,
    `select ${point("NaN", "5")}`,
    `select ${point("Infinity", "5")}`,
    `${many} ${point("NaN", "5")}`,
    `${many} ${point("Infinity", "5")}`,
  ]) {
    const { rows } = await client.query("select version from layer where id = $1", [layerId]);
    const before = Number(rows[0].version);
    told.length = 0;
    await client.query(`insert into ${table} (geom) ${geometries}`);
    // Notifications arrive before the answer to a later query.
    await client.query("select 1");
    const heard = new LayerVersion(layerId, before);
    for (const notification of told.map(parseNotification))
      if (notification?.kind === "layer") heard.apply(notification.change);
    t.ok(heard.version > before, `${geometries} is heard of`);
    t.ok(heard.touchedSince(before, somewhere), `${geometries} is heard of everywhere`);
    const read = new LayerVersion(layerId, before);
    for (const change of (await readLayers(db, [{ id: layerId, version: before }])).layers[0]!.changes)
      read.apply(change);
    t.equal(read.version, heard.version);
    t.ok(read.touchedSince(before, somewhere), `${geometries} is read as everywhere`);
  }
});

t.test("a change whose area cannot be read is one of the whole layer, with its mark", (t) => {
  for (const area of ["NaN,1,2,3", "1,1,Infinity,3", "-Infinity,1,2,3", "1,2,3", "a,b,c,d"])
    t.same(parseNotification(`L 7 5 4 ${area} n/8`), {
      kind: "layer",
      id: 7,
      change: { version: 5, previous: 4, area: null },
      mark: { node: "n", receipt: "8" },
    });
  t.end();
});
