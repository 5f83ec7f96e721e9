import pg from "pg";
import t from "tap";
import { importLock } from "../../src/storage/advisory-locks.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { waitFor } from "../support/server.js";

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

const levelCounts = async (layerId: number, bands: number[]) => {
  const counts: Record<number, number> = {};
  for (const level of bands) {
    counts[level] = (
      await client.query(`select count(*)::int as n from layers.l${layerId}_z${level}`)
    ).rows[0].n;
  }
  return counts;
};

t.test("a small layer gets no levels", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(10, 0.01)}`);
  t.same((await client.query("select generalize_layer($1) as bands", [layerId])).rows[0].bands, []);
});

t.test("a large layer gets lighter geometry in each level, and edits keep it up", async (t) => {
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
  const before = await levelCounts(layerId, bands);

  await client.query(`insert into ${table} (geom) ${wiggle(5, 0.01)}`);
  for (const level of bands)
    t.equal((await levelCounts(layerId, bands))[level], before[level]! + 5, `z${level} after insert`);

  await client.query(`update ${table} set geom = st_translate(geom, 0, 10) where svc_id <= 3`);
  const moved = await client.query(
    `select count(*)::int as n from layers.l${layerId}_z${bands[0]} where svc_id <= 3 and st_ymin(st_transform(geom, 4326)) >= 49`,
  );
  t.equal(moved.rows[0].n, 3, "an update moves the generalised geometry");

  await client.query(
    `update ${table} set geom = ${"st_setsrid(st_makeline(st_point(1, 1), st_point(1.0001, 1)), 4326)"} where svc_id = 4`,
  );
  t.equal(
    (await levelCounts(layerId, [bands[0]!]))[bands[0]!],
    before[bands[0]!]! + 4,
    "what became too small is left out",
  );

  await client.query(`delete from ${table} where svc_id <= 100`);
  t.equal((await levelCounts(layerId, bands))[bands.at(-1)!], before[bands.at(-1)!]! - 95);
  await client.query(`truncate ${table}`);
  t.equal((await levelCounts(layerId, bands))[bands[0]!], 0);
});

/** How many rows of the levels and of the sums beside them are not those of levels that are made anew. */
async function differences(layerId: number): Promise<Record<string, number>> {
  const bands: number[] = (await client.query("select bands from layer where id = $1", [layerId])).rows[0]
    .bands;
  await client.query(`create table staging.again as select svc_id, geom_3857 from layers.l${layerId}`);
  const made = (await client.query("select make_bands('staging', 'again') as bands")).rows[0].bands;
  t.same(made, bands);
  const found: Record<string, number> = {};
  for (const level of bands) {
    for (const [kind, columns] of [
      ["z", "svc_id, st_asbinary(geom)"],
      ["g", "dimension, x, y, n, size, sx, sy"],
    ]) {
      const is = `select ${columns} from layers.l${layerId}_${kind}${level} `;
      const should = `select ${columns} from staging.again_${kind}${level}`;
      const { rows } = await client.query(
        `select (select count(*) from (${is} except ${should}) more)::int + (select count(*) from (${should} except ${is}) less)::int as n`,
      );
      if (rows[0].n > 0) found[`${kind}${level}`] = rows[0].n;
    }
    // Some of the objects of a pixel have their places, or all of few.
    const small = await client.query("select small_sql($1, $2, $3) as sql", [
      `select svc_id, geom_3857 from layers.l${layerId}`,
      `layers.l${layerId}_z${level}`,
      level,
    ]);
    const { rows } = await client.query(
      `with small as materialized (${small.rows[0].sql})
       select count(*)::int as n from layers.l${layerId}_g${level} g where cardinality(places) <> least(n, places_kept())
         or cardinality(places) <> (select count(distinct s.svc_id) from small s where s.place = any(g.places)
           and (s.dimension, s.x, s.y) = (g.dimension, g.x, g.y))`,
    );
    if (rows[0].n > 0) found[`places ${level}`] = rows[0].n;
  }
  for (const name of ["again", ...bands.flatMap((level) => [`again_z${level}`, `again_g${level}`])])
    await client.query(`drop table staging.${name}`);
  return found;
}

t.test("what is too small for a level is added up, exactly, whoever edits", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const small = (count: number) =>
    `select st_setsrid(case when n % 3 = 0 then st_makeline(st_makepoint(x, y), st_makepoint(x + s, y)) else st_makeenvelope(x, y, x + s, y + s) end, 4326)
     from (select n, 7 + random() * 0.1 as x, 50 + random() * 0.1 as y, 0.00001 * 10 ^ (random() * 3) as s from generate_series(1, ${count}) n) r`;
  await client.query(`insert into ${table} (geom) ${small(8_000)}`);
  await client.query("select generalize_layer($1)", [layerId]);
  const { rows } = await client.query("select gathered, bands from layer where id = $1", [layerId]);
  t.ok(Array.isArray(rows[0].gathered));
  const sums = await client.query(`select sum(n)::int as n from layers.l${layerId}_g${rows[0].bands[0]}`);
  t.ok(sums.rows[0].n > 7_000);
  const writers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const writer = new pg.Client({ connectionString: database.url });
      await writer.connect();
      return writer;
    }),
  );
  await Promise.all(
    writers.map(async (writer, index) => {
      for (let round = 0; round < 6; round++) {
        const from = 1000 * index + 100 * round;
        await writer.query(`begin; set local search_path = mapwright, public; insert into ${table} (geom) ${small(3)};
          update ${table} set geom = st_translate(geom, 0.05, 0) where svc_id between ${from} and ${from + 20};
          delete from ${table} where svc_id between ${from + 10} and ${from + 30};
          update ${table} set geom = st_scale(geom, st_makepoint(1.001, 1.001)) where svc_id = ${from + 5}; commit`);
      }
      await writer.end();
    }),
  );
  t.same(await differences(layerId), {});
  await client.query(`begin; insert into ${table} (geom) ${small(5)}; truncate ${table}; commit`);
  const left = await client.query(`select count(*)::int as n from layers.l${layerId}_g${rows[0].bands[0]}`);
  t.same(left.rows, [{ n: 0 }]);
});

t.test("levels go with their layer", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(400, 0.01)}`);
  await client.query("select generalize_layer($1)", [layerId]);
  await client.query("delete from node where id = $1", [layerId]);
  const left = await client.query("select relname from pg_class where relname ~ $1", [
    `^l${layerId}(_[gz]\\d+)?$`,
  ]);
  t.same(left.rows, []);
});

t.test("a layer that has grown by edits gets levels as an imported one, once", async (t) => {
  const { layerId, table } = await makeLayer(client);
  const state = async () =>
    (await client.query("select bands, gathered from layer where id = $1", [layerId])).rows[0];
  const isOutgrown = async () => {
    await client.query(`analyze ${table}`);
    const { rows } = await client.query("select id::int from outgrown_layers() id");
    return rows.some(({ id }) => id === layerId);
  };
  const towns = (count: number) =>
    `select st_setsrid(st_makeenvelope(x, y, x + 0.0001, y + 0.0001), 4326)
     from (select 7 + (n % 50) * 0.5 + random() * 0.001 as x, 50 + random() * 0.001 as y from generate_series(1, ${count}) n) r`;
  await client.query(`insert into ${table} (geom) ${towns(1_000)}`);
  t.notOk(await isOutgrown());
  await client.query(`insert into ${table} (geom) ${towns(24_000)}`);
  t.ok(await isOutgrown());
  await client.query("select generalize_grown($1)", [layerId]);
  await client.query("select note_crowds($1)", [layerId]);
  t.ok((await state()).bands.length > 0);
  t.notOk(await isOutgrown());
  t.same(await differences(layerId), {});
  await client.query(`insert into ${table} (geom) ${towns(5)}`);
  t.same(await differences(layerId), {}, "triggers keep them");

  const { bands, gathered } = await state();
  await client.query("update layer set gathered = '{}' where id = $1", [layerId]);
  await client.query("select generalize_grown($1)", [layerId]);
  t.same((await state()).gathered, gathered, "which of them are light is found again");

  await client.query("update layer set gathered = null where id = $1", [layerId]);
  for (const level of bands) await client.query(`drop table layers.l${layerId}_g${level}`);
  t.ok(await isOutgrown(), "its levels are of a version without sums");
  await client.query("select generalize_grown($1)", [layerId]);
  t.same(await state(), { bands, gathered });
  t.notOk(await isOutgrown());
  await client.query(`delete from ${table} where svc_id % 3 = 0`);
  t.same(await differences(layerId), {});
});

t.test("the catalogue is written while a layer that has grown gets levels", async (t) => {
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  t.teardown(() => other.end());
  await other.query("set search_path = mapwright, public");
  const { layerId, mapId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) ${wiggle(400, 0.01)}`);
  const grow = () =>
    client.query("select generalize_grown($1)", [layerId]).then(
      () => "made",
      (error: Error) => error.message,
    );
  const bands = async () =>
    (await other.query("select bands from layer where id = $1", [layerId])).rows[0].bands;

  await other.query("begin");
  await other.query(`select pg_advisory_xact_lock(${importLock("$1")})`, [layerId]);
  await other.query("select from map where id = $1 for update", [mapId]);
  t.equal(await grow(), "made", "it does not wait for an import or a change of columns");
  await other.query(`lock table ${table} in access exclusive mode`);
  await other.query("commit");
  t.same(await bands(), []);

  for (const hasOld of [false, true]) {
    await other.query("begin");
    await other.query("select from map where id = $1 for update", [mapId]);
    const making = grow();
    const { processID } = client as unknown as { processID: number };
    await waitFor(async () => {
      const { rows } = await other.query("select from pg_locks where pid = $1 and not granted", [processID]);
      return rows.length > 0;
    });
    const changed = other.query("update layer set changed_at = now() where id = $1", [layerId]).then(
      () => "changed",
      (error: Error) => error.message,
    );
    t.equal(await changed, "changed", "the layer's row comes after the map's");
    await other.query("commit");
    t.equal(await making, "made");
    t.not((await bands()).length, 0, hasOld ? "made anew" : "made");
    // As those of a version without sums.
    await client.query("update layer set gathered = null where id = $1", [layerId]);
  }
});
