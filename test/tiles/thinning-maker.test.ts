import pg from "pg";
import t from "tap";
import { openDatabase } from "../../src/storage/postgres.js";
import { plainThinning } from "../../src/tiles/thinning.js";
import { makeThinnings } from "../../src/tiles/thinning-maker.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Lighter geometry is made for one layer after the other, whatever is wrong with one of them, and given up at once. */

const database = await freshDatabase();
const link = await DatabaseLink.to(database.url);
const db = openDatabase({ url: link.url, connections: 2, statementTimeoutMs: 60_000, log: quietLog });
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
t.teardown(async () => {
  await client.end();
  await db.close();
  await link.close();
  await database.drop();
});

const layerOfPoints = async () => {
  const layer = await makeLayer(client);
  await client.query(
    `insert into ${layer.table} (geom)
     select st_setsrid(st_makepoint(7 + random() * 0.2, 50 + random() * 0.2), 4326) from generate_series(1, 20500)`,
  );
  await client.query("update layer set geometry_kind = 'Point' where id = $1", [layer.layerId]);
  await client.query(`analyze ${layer.table}`);
  return layer;
};
const thinned = async () =>
  (await client.query("select layer_id::int as id from thinning where not building order by id")).rows.map(
    ({ id }) => id,
  );

t.test("a layer that fails is in no other's way", async (t) => {
  const broken = await layerOfPoints();
  const second = await layerOfPoints();
  // Its objects cannot be read.
  await client.query(`alter table ${broken.table} rename column geom_3857 to gone`);
  const maker = makeThinnings(db, quietLog);
  maker.kick();
  await maker.idle();
  t.same(await thinned(), [second.layerId]);
  const { rows } = await client.query(
    "select id::int, crowds is not null as known from layer where id > 0 order by id",
  );
  t.same(rows, [
    { id: broken.layerId, known: false },
    { id: second.layerId, known: true },
  ]);
  await maker.stop();
  await client.query("delete from node where id = any($1)", [[broken.layerId, second.layerId]]);
  await client.query("truncate thinning cascade");
});

t.test(
  "an edit whose snapshot is older than lighter geometry fails to serialize, and is followed when it is tried again",
  async (t) => {
    const { layerId, table } = await layerOfPoints();
    await client.query("select note_crowds($1)", [layerId]);
    const editor = new pg.Client({ connectionString: database.url });
    await editor.connect();
    t.teardown(() => editor.end());
    const edit = () => editor.query(`update ${table} set geom = st_translate(geom, 20, 0)`);
    await editor.query("begin isolation level repeatable read");
    await editor.query("select from mapwright.layer");
    const maker = makeThinnings(db, quietLog);
    maker.want(layerId, plainThinning);
    await maker.idle();
    await maker.stop();
    const { rows } = await client.query("select number, bands from thinning where layer_id = $1", [layerId]);
    const { number, bands } = rows[0] as { number: number; bands: number[] };
    t.not(bands.length, 0);
    await t.rejects(
      edit().then(() => editor.query("commit")),
      { code: "40001" },
    );
    await editor.query("rollback");
    await edit();
    for (const level of bands) {
      const found = await client.query(
        `select count(*) filter (where st_x(st_transform(geom, 4326)) < 20)::int as old from layers.l${layerId}_p${number}_z${level}`,
      );
      t.same(found.rows, [{ old: 0 }]);
    }
    await client.query("delete from node where id = $1", [layerId]);
  },
);

t.test("what runs is given up although the request to cancel it comes between two statements", async (t) => {
  const layer = await layerOfPoints();
  await client.query(`
    alter function make_thinning(text, text, thinning) rename to make_thinning_at_once;
    create function make_thinning(text, text, thinning) returns int[] language plpgsql as $$
    begin
      perform pg_sleep(20);
      return mapwright.make_thinning_at_once($1, $2, $3);
    end $$`);
  const maker = makeThinnings(db, quietLog);
  await db.query("select 1");
  // The server has done a statement, and the node does not know yet.
  link.readyDelayMs = 300;
  maker.want(layer.layerId, plainThinning);
  await waitFor(async () => (await client.query("select from thinning where building")).rowCount === 1);
  await maker.stop();
  link.restore();
  t.same(await thinned(), []);
  const { rowCount } = await client.query(
    "select from pg_stat_activity where datname = current_database() and state = 'active' and query ~ 'make_thinning' and pid <> pg_backend_pid()",
  );
  t.equal(rowCount, 0);
});

t.test("what is held of one map is in the way of no other map's", async (t) => {
  const [held, free] = [await makeLayer(client), await makeLayer(client)];
  await client.query(
    `insert into thinning (layer_id, number, digest, bits, columns, kinds, keeps, building, retired_at)
     select id, 1, 'old', '0', '{}', '{}', '{}', false, now() - interval '1 hour' from unnest($1::bigint[]) id`,
    [[held.layerId, free.layerId]],
  );
  const editor = new pg.Client({ connectionString: database.url });
  await editor.connect();
  t.teardown(() => editor.end());
  await editor.query("begin");
  await editor.query("select from mapwright.map where id = $1 for no key update", [held.mapId]);
  await client.query("set lock_timeout = '1s'");
  await client.query("select sweep_thinnings()");
  await client.query("set lock_timeout to default");
  const { rows } = await client.query("select layer_id::int as id from thinning where digest = 'old'");
  t.same(rows, [{ id: held.layerId }]);
  await editor.query("rollback");
  await client.query("select sweep_thinnings()");
  t.equal((await client.query("select from thinning where digest = 'old'")).rowCount, 0);
});
