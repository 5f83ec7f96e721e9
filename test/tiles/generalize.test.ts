import pg from "pg";
import t from "tap";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";

/** Generalised geometry of large layers. */

const database = await freshDatabase();
t.teardown(() => database.drop());
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
t.teardown(() => client.end());

const wiggle = (count: number, degrees: number) =>
  `select st_setsrid(st_makeline(array(select st_point(k + n * ${degrees}, 40 + random() * ${degrees})
     from generate_series(0, 99) n)), 4326) from generate_series(1, ${count}) k`;

const bandCounts = async (layerId: number, bands: number[]) => {
  const counts: Record<number, number> = {};
  for (const band of bands) {
    counts[band] = (
      await client.query(`select count(*)::int as n from layers.l${layerId}_z${band}`)
    ).rows[0].n;
  }
  return counts;
};

t.test("a small layer gets no bands", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(10, 0.01)}`);
  t.same((await client.query("select generalize_layer($1) as bands", [layerId])).rows[0].bands, []);
});

t.test("a large layer gets lighter geometry in each band, and edits keep it up", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(400, 0.01)}`);
  const bands: number[] = (await client.query("select generalize_layer($1) as bands", [layerId])).rows[0]
    .bands;
  t.ok(bands.length > 0);
  t.same(
    bands,
    [...bands].sort((a, b) => a - b),
  );
  t.same((await client.query("select bands from layer where id = $1", [layerId])).rows[0].bands, bands);
  const before = await bandCounts(layerId, bands);

  await client.query(`insert into ${table} (geom) ${wiggle(5, 0.01)}`);
  for (const band of bands)
    t.equal((await bandCounts(layerId, bands))[band], before[band]! + 5, `z${band} after insert`);

  await client.query(`update ${table} set geom = st_translate(geom, 0, 10) where svc_id <= 3`);
  const moved = await client.query(
    `select count(*)::int as n from layers.l${layerId}_z${bands[0]} where svc_id <= 3 and st_ymin(st_transform(geom, 4326)) >= 49`,
  );
  t.equal(moved.rows[0].n, 3, "an update moves the generalised geometry");

  await client.query(
    `update ${table} set geom = ${"st_setsrid(st_makeline(st_point(1, 1), st_point(1.0001, 1)), 4326)"} where svc_id = 4`,
  );
  t.equal(
    (await bandCounts(layerId, [bands[0]!]))[bands[0]!],
    before[bands[0]!]! + 4,
    "what became too small is left out",
  );

  await client.query(`delete from ${table} where svc_id <= 100`);
  t.equal((await bandCounts(layerId, bands))[bands.at(-1)!], before[bands.at(-1)!]! - 95);
  await client.query(`truncate ${table}`);
  t.equal((await bandCounts(layerId, bands))[bands[0]!], 0);
});

t.test("bands go with their layer", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(400, 0.01)}`);
  await client.query("select generalize_layer($1)", [layerId]);
  await client.query("delete from node where id = $1", [layerId]);
  const left = await client.query("select relname from pg_class where relname ~ $1", [
    `^l${layerId}(_z\\d+)?$`,
  ]);
  t.same(left.rows, []);
});
