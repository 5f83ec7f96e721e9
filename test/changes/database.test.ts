import pg from "pg";
import t from "tap";
import { readLayers } from "../../src/changes/history.js";
import { versionStep } from "../../src/changes/layer-version.js";
import { parseNotification } from "../../src/changes/notification.js";
import { toMercator } from "../../src/geo/envelope.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer, makeLayers } from "../support/layers.js";
import { waitFor } from "../support/server.js";

/** The change log in the database, as any SQL client meets it. */

const database = await freshDatabase();
t.teardown(() => database.drop());

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set search_path = mapwright, public");
  return client;
}
const client = await connect();
const other = await connect();
t.teardown(async () => {
  await client.end();
  await other.end();
});

const point = (lon: number, lat: number) => `st_setsrid(st_point(${lon}, ${lat}), 4326)`;
const box = (lon: number, lat: number) => [...toMercator(lon, lat), ...toMercator(lon, lat)];
const rounded = (numbers: number[] | null) => numbers?.map(Math.round) ?? null;

/** How many changes a version counts. */
const numberOf = (version: unknown) => Math.floor(Number(version) / versionStep);

/** The changes of a layer by their numbers; each names the version before it. */
async function log(layerId: number): Promise<{ version: number; area: number[] | null }[]> {
  const { rows } = await client.query(
    "select version, previous, area from layer_change where layer_id = $1 order by version",
    [layerId],
  );
  for (const [index, row] of rows.entries()) {
    if (index > 0) t.equal(row.previous, rows[index - 1].version);
  }
  return rows.map((row) => ({ version: numberOf(row.version), area: rounded(row.area) }));
}

t.test("each transaction adds one version with the boxes of what it touched", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) values (${point(10, 20)})`);
  await client.query("begin");
  await client.query(`insert into ${table} (geom) values (${point(30, 40)})`);
  await client.query(`insert into ${table} (geom) values (${point(-30, 0)})`);
  await client.query("commit");
  t.same(await log(layerId), [
    { version: 2, area: rounded(box(10, 20)) },
    { version: 3, area: rounded([...box(30, 40), ...box(-30, 0)]) },
  ]);
});

t.test("rows of maps are taken before those of all layers that a transaction touches", async (t) => {
  const { mapId, table, layerId } = await makeLayer(client);
  const [far] = await makeLayers(client, mapId, 1);
  await other.query("begin");
  await other.query("select from map where id = $1 for no key update", [mapId]);
  await client.query("begin");
  await client.query(`insert into ${table} (geom) values (${point(1, 2)})`);
  await client.query(`insert into layers.l${far} (geom) values (${point(190, 2)})`);
  const committed = client.query("commit");
  const isWaiting = async () =>
    (await other.query("select from pg_locks where not granted and pid <> pg_backend_pid()")).rowCount !== 0;
  await waitFor(isWaiting);
  await other.query("select from layer where id = $1 for update nowait", [layerId]);
  await other.query("commit");
  await committed;
  const { rows } = await client.query("select crosses_antimeridian from layer where id = $1", [far]);
  t.equal(rows[0].crosses_antimeridian, true);
  t.equal((await log(layerId)).length, 1);
});

t.test("an update's area holds the old and the new place, a delete's the old one", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) values (${point(10, 20)})`);
  await client.query(`update ${table} set geom = ${point(50, 60)}`);
  await client.query(`delete from ${table}`);
  t.same((await log(layerId)).slice(1), [
    { version: 3, area: rounded([...box(10, 20), ...box(50, 60)]) },
    { version: 4, area: rounded(box(50, 60)) },
  ]);
});

t.test(
  "an object without geometry, or wholly beyond the projection, changes nothing that can be drawn",
  async (t) => {
    const { layerId, table } = await makeLayer(client);
    await client.query(`insert into ${table} (geom) values (null)`);
    await client.query(`insert into ${table} (geom) values (${point(0, 90)})`);
    t.same(
      (await log(layerId)).map(({ area }) => area),
      [[], []],
    );
  },
);

t.test("a statement that touches no row leaves no version", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`delete from ${table}`);
  await client.query(`update ${table} set geom = null`);
  t.same(await log(layerId), []);
});

t.test("a truncate touches the whole layer", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`truncate ${table}`);
  t.same(await log(layerId), [{ version: 2, area: null }]);
});

t.test("a rolled back transaction leaves nothing, not even among touches", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query("begin");
  await client.query(`insert into ${table} (geom) values (${point(10, 20)})`);
  await client.query("rollback");
  t.same(await log(layerId), []);
  t.equal((await client.query("select from layer_touch")).rowCount, 0);
});

t.test("a rolled back savepoint does not count", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query("begin");
  await client.query(`insert into ${table} (geom) values (${point(10, 20)})`);
  await client.query("savepoint s");
  await client.query(`insert into ${table} (geom) values (${point(30, 40)})`);
  await client.query("rollback to s");
  await client.query("commit");
  t.same(await log(layerId), [{ version: 2, area: rounded(box(10, 20)) }]);
});

t.test("a bulk insert leaves a short list of boxes that covers every object", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(
    `insert into ${table} (geom) select st_setsrid(st_point(random() * 360 - 180, random() * 160 - 80), 4326)
     from generate_series(1, 20000)`,
  );
  const [change] = await log(layerId);
  t.ok(change!.area!.length <= 16 * 4, `${change!.area!.length / 4} boxes`);
  const { rows } = await client.query(
    `select count(*)::int as outside from ${table} o where not exists (
       select from layer_change c, generate_series(1, cardinality(c.area), 4) i
       where c.layer_id = $1 and o.geom_3857 && st_makeenvelope(c.area[i], c.area[i + 1], c.area[i + 2], c.area[i + 3], 3857))`,
    [layerId],
  );
  t.equal(rows[0].outside, 0);
});

t.test(
  "two transactions over the same layers in opposite orders do not wait for each other for ever",
  async (t) => {
    const a = await makeLayer(client);
    const b = await makeLayer(client);
    for (let round = 0; round < 20; round++) {
      await Promise.all([client.query("begin"), other.query("begin")]);
      await client.query(`insert into ${a.table} (geom) values (${point(1, 1)})`);
      await other.query(`insert into ${b.table} (geom) values (${point(1, 1)})`);
      await client.query(`insert into ${b.table} (geom) values (${point(1, 1)})`);
      await other.query(`insert into ${a.table} (geom) values (${point(1, 1)})`);
      await Promise.all([client.query("commit"), other.query("commit")]);
    }
    t.equal((await log(a.layerId)).length, 40);
    t.equal((await log(b.layerId)).length, 40);
  },
);

t.test("versions of one layer are committed in their order", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const writers = await Promise.all([connect(), connect(), connect(), connect()]);
  const seen: number[] = [];
  other.on("notification", (message) => {
    const [kind, id, version] = message.payload!.split(" ");
    if (kind === "L" && Number(id) === layerId) seen.push(numberOf(version));
  });
  await other.query("listen mapwright");
  await Promise.all(
    writers.map(async (writer) => {
      for (let round = 0; round < 25; round++)
        await writer.query(`insert into ${table} (geom) values (${point(1, 1)})`);
    }),
  );
  await other.query("select 1");
  await Promise.all(writers.map((writer) => writer.end()));
  t.same(
    seen,
    Array.from({ length: 100 }, (_, index) => index + 2),
  );
});

t.test("versions of two histories of one layer differ", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const versions = new Set<string>();
  for (let round = 0; round < 20; round++) {
    await client.query("begin");
    await client.query(`insert into ${table} (geom) values (${point(1, 1)})`);
    await client.query("set constraints all immediate");
    const { rows } = await client.query("select version from layer where id = $1", [layerId]);
    versions.add(String(rows[0].version));
    // As if the transaction had been lost with a server.
    await client.query("rollback");
  }
  t.ok(versions.size > 18, `${versions.size} of 20`);
  t.equal(new Set([...versions].map(numberOf)).size, 1);
});

t.test("revisions of two histories of one map or project differ", async (t) => {
  const { mapId, projectId } = await makeLayer(client);
  for (const [table, id] of [
    ["map", mapId],
    ["project", projectId],
  ] as const) {
    const revisions = new Set<number>();
    for (let round = 0; round < 20; round++) {
      await client.query("begin");
      const { rows } = await client.query(
        `update ${table} set name = 'changed' where id = $1 returning revision`,
        [id],
      );
      revisions.add(Number(rows[0].revision));
      await client.query("rollback");
    }
    t.ok(revisions.size > 18, `${table}: ${revisions.size} of 20`);
  }
});

t.test("what a node of ours changes says which transaction it was", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const heard: string[] = [];
  const hear = (message: pg.Notification) => heard.push(message.payload!);
  client.on("notification", hear);
  await client.query("listen mapwright");
  await client.query("set mapwright.node = 'n7'");
  const { rows } = await client.query(
    `insert into ${table} (geom) values (${point(1, 1)}) returning pg_current_xact_id() as id`,
  );
  await client.query("reset mapwright.node");
  await client.query(`insert into ${table} (geom) values (${point(1, 1)})`);
  await client.query("select 1");
  const [own, other] = heard.map(parseNotification);
  t.match(own, { kind: "layer", id: layerId, mark: { node: "n7", receipt: String(rows[0].id) } });
  t.match(other, { kind: "layer", id: layerId, mark: undefined });
  client.off("notification", hear);
  await client.query("unlisten mapwright");
});

t.test("a catalogue edit raises the map's revision and is announced", async (t) => {
  const { mapId, layerId, projectId } = await makeLayer(client);
  const revision = async () =>
    Number((await client.query("select revision from map where id = $1", [mapId])).rows[0].revision);
  const announced: string[] = [];
  const hear = (message: pg.Notification) => announced.push(message.payload!);
  client.on("notification", hear);
  await client.query("listen mapwright");
  for (const [text, values] of [
    ["update node set css_style = '#l {}' where id = $1", [layerId]],
    ["insert into layer_column (layer_id, code, type) values ($1, 'name', 'string')", [layerId]],
    ["update map set css_style = 'Map {}' where id = $1", [mapId]],
  ] as const) {
    const before = await revision();
    await client.query(text, [...values]);
    t.ok((await revision()) > before, text);
  }
  await client.query("insert into access_grant (project_id, map_id, rights) values ($1, $2, 0)", [
    projectId,
    mapId,
  ]);
  await client.query("select 1");
  t.ok(announced.filter((payload) => payload === `M ${mapId}`).length >= 3);
  t.ok(announced.includes(`P ${projectId}`));
  client.off("notification", hear);
  await client.query("unlisten mapwright");
});

t.test("deleting a layer, a map or a project drops the tables of objects", async (t) => {
  for (const what of ["node", "map", "project"] as const) {
    const made = await makeLayer(client);
    const id = { node: made.layerId, map: made.mapId, project: made.projectId }[what];
    await client.query(`insert into ${made.table} (geom) values (${point(1, 1)})`);
    await client.query(`delete from ${what} where id = $1`, [id]);
    t.equal((await client.query("select to_regclass($1) as oid", [made.table])).rows[0].oid, null, what);
  }
});

t.test("layers are read in the order that they are named in, however the planner joins", async (t) => {
  const { mapId } = await makeLayer(client);
  const layers = await makeLayers(client, mapId, 3);
  const named = [layers[2]!, layers[0]!, layers[1]!].map((id) => ({ id, version: 0 }));
  const db = {
    query: async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows,
  } as unknown as Parameters<typeof readLayers>[0];
  const found = await readLayers(db, named);
  const known = found.layers.map(({ id, version }) => ({ id, version }));
  t.same(
    known.map(({ id }) => id),
    named.map(({ id }) => id),
  );
  t.teardown(() => client.query("reset enable_nestloop; reset enable_hashjoin; reset enable_mergejoin"));
  for (const kind of ["nestloop", "hashjoin", "mergejoin"]) {
    for (const other of ["nestloop", "hashjoin", "mergejoin"])
      await client.query(`set enable_${other} = ${other === kind ? "on" : "off"}`);
    const again = await readLayers(db, known);
    t.same(
      again.layers.map(({ id }) => id),
      named.map(({ id }) => id),
      kind,
    );
    t.notOk(
      again.layers.some(({ diverged }) => diverged),
      kind,
    );
  }
});
