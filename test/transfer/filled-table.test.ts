import t from "tap";
import { deleteLayer } from "../../src/catalog/layers.js";
import { removeAll } from "../../src/catalog/removal.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { SingleTransaction } from "../../src/storage/single-transaction.js";
import { collection, feature, importBench, point } from "../support/transfer.js";

/** Large imports, which fill a new table that takes the place of the layer's. */

const bench = await importBench();
t.teardown(() => bench.stop());
const { db } = bench;

const many = (count: number, from = 0) =>
  collection(
    ...Array.from({ length: count }, (_, n) =>
      feature({ n: from + n, name: `name ${from + n}` }, point((n % 360) - 180, (n % 170) - 85)),
    ),
  );

/** What PostgreSQL says of the layer's table, without its number. */
async function table(layer: number) {
  const list = async (query: string) =>
    (await db.query<{ name: string }>(query)).map(({ name }) => name.replaceAll(`l${layer}`, "l"));
  return {
    indexes: await list(
      `select indexdef as name from pg_indexes where schemaname = 'layers' and tablename = 'l${layer}' order by 1`,
    ),
    triggers: await list(
      `select pg_get_triggerdef(oid) as name from pg_trigger where tgrelid = 'layers.l${layer}'::regclass and not tgisinternal order by 1`,
    ),
    constraints: await list(
      `select replace(pg_get_constraintdef(oid), ' NOT VALID', '') as name from pg_constraint where conrelid = 'layers.l${layer}'::regclass order by 1`,
    ),
    identity: await list(
      `select concat_ws(' ', attname, attidentity::text, attnotnull) as name from pg_attribute where attrelid = 'layers.l${layer}'::regclass and attname = 'svc_id'`,
    ),
    sequence: await list(`select pg_get_serial_sequence('layers.l${layer}', 'svc_id') as name`),
  };
}

const oid = async (layer: number) =>
  (await db.query<{ oid: number }>(`select 'layers.l${layer}'::regclass::oid::bigint as oid`))[0]!.oid;
const staged = () =>
  db.query("select relname from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'");

t.test("a new table is like the one whose place it takes", async (t) => {
  const layer = await bench.layer();
  const before = { ...(await table(layer)), oid: await oid(layer) };
  await db.execute(`grant select on layers.l${layer} to public`);
  const { inserted } = await bench.import(layer, many(6_000));
  t.equal(inserted, 6_000);
  t.not(await oid(layer), before.oid, "the table is a new one");
  t.same({ ...(await table(layer)), oid: before.oid }, before);
  const [rights] = await db.query(
    `select has_table_privilege('public', 'layers.l${layer}', 'select') as granted`,
  );
  t.same(rights, { granted: true });
  t.same(await staged(), []);
  t.match((await bench.objects(layer)).slice(0, 2), [
    { svc_id: 1, n: 0, name: "name 0", geom: "POINT(-180 -85)" },
    { svc_id: 2, n: 1, name: "name 1", geom: "POINT(-179 -84)" },
  ]);
  const [projected] = await db.query(
    `select count(*)::int as wrong from layers.l${layer} where geom_3857 is distinct from mapwright.to_mercator(geom)`,
  );
  t.same(projected, { wrong: 0 });
  const [made] = await db.query(`insert into layers.l${layer} (geom) values (null) returning svc_id`);
  t.same(made, { svc_id: 6_001 }, "ids go on");
});

t.test("each import is one version, and edits afterwards are noticed", async (t) => {
  const layer = await bench.layer();
  const changes = async () =>
    (
      await db.query<{ changes: number }>(
        `select count(*)::int as changes from layer_change where layer_id = ${layer}`,
      )
    )[0]!.changes;
  const first = await changes();
  await bench.import(layer, many(6_000));
  t.equal(await changes(), first + 1);
  await db.execute(`delete from layers.l${layer} where svc_id = 1`);
  t.equal(await changes(), first + 2);
  t.match(await bench.import(layer, many(6_000, 10_000), { action: "replace" }), {
    inserted: 6_000,
    removed: 5_999,
  });
  t.equal(await changes(), first + 3);
  t.match((await bench.objects(layer))[0], { svc_id: 6_001, n: 10_000 });
});

t.test("levels are made beside the table, and kept up", async (t) => {
  const ring = (x: number, y: number) =>
    Array.from({ length: 13 }, (_, n) => [
      x + 0.01 * Math.cos((Math.PI * n) / 6),
      y + 0.01 * Math.sin((Math.PI * n) / 6),
    ]);
  const closed = (ring: number[][]) => [...ring.slice(0, -1), ring[0]!];
  const polygons = collection(
    ...Array.from({ length: 6_000 }, (_, n) =>
      feature({ n }, { type: "Polygon", coordinates: [closed(ring((n % 100) - 50, n / 100))] }),
    ),
  );
  const layer = await bench.layer();
  for (const action of ["merge", "replace"] as const) {
    await bench.import(layer, polygons, { action });
    const [made] = await db.query<{ bands: number[] }>(`select bands from layer where id = ${layer}`);
    t.ok(made!.bands.length > 0);
    for (const level of made!.bands) {
      const [rows] = await db.query<{ rows: number }>(
        `select count(*)::int as rows from layers.l${layer}_z${level}`,
      );
      await db.execute(
        `delete from layers.l${layer} where svc_id in (select svc_id from layers.l${layer}_z${level} limit 1)`,
      );
      const [left] = await db.query<{ rows: number }>(
        `select count(*)::int as rows from layers.l${layer}_z${level}`,
      );
      t.ok(rows!.rows === 0 || left!.rows < rows!.rows, `level ${level}`);
    }
  }
  t.same(await staged(), []);
});

t.test("points are thinned beside the table, and kept up", async (t) => {
  const layer = await bench.layer();
  const count = 20_500;
  const points = collection(
    ...Array.from({ length: count }, (_, n) =>
      feature({ n }, { type: "Point", coordinates: [(n % 150) / 500, Math.floor(n / 150) / 500] }),
    ),
  );
  for (const action of ["merge", "replace"] as const) {
    await bench.import(layer, points, { action });
    const [made] = await db.query<{ bands: number[] }>(
      `select bands from thinning where layer_id = ${layer}`,
    );
    const [finest] = made!.bands.slice(-1);
    const rows = async () =>
      (
        await db.query<{ rows: number }>(`select count(*)::int as rows from layers.l${layer}_p1_z${finest}`)
      )[0]!.rows;
    const before = await rows();
    t.ok(before > 100 && before <= count * 0.6);
    await db.execute(`insert into layers.l${layer} (geom) values (st_setsrid(st_makepoint(50, 50), 4326))`);
    t.equal(await rows(), before + 1);
  }
  t.same(await staged(), []);
});

t.test("an object that is made meanwhile stays", async (t) => {
  const layer = await bench.layer();
  const path = bench.file(many(6_000));
  const lock = await db.dedicated();
  await lock.query(`begin; insert into layers.l${layer} (geom) values (null)`);
  const running = importIntoLayer(
    bench.deps,
    { layerId: layer, language: "en" },
    { files: [{ path, name: path }], action: "merge" },
  );
  await new Promise((wait) => setTimeout(wait, 1_500));
  await lock.query("commit");
  await lock.end();
  t.equal((await running).inserted, 6_000);
  const [count] = await db.query(`select count(*)::int as rows from layers.l${layer}`);
  t.same(count, { rows: 6_001 });
  t.same(await staged(), []);
});

t.test("a table that a view depends on is written to as it is", async (t) => {
  const layer = await bench.layer();
  await db.execute(`create view layers.over_l${layer} as select svc_id from layers.l${layer}`);
  const before = await oid(layer);
  t.equal((await bench.import(layer, many(6_000))).inserted, 6_000);
  t.equal(await oid(layer), before);
  await db.execute(`drop view layers.over_l${layer}`);
});

t.test("an import that fails at the end leaves nothing behind", async (t) => {
  const layer = await bench.layer();
  const before = await bench.state(layer);
  const twice = many(6_000);
  for (const { properties } of twice.features as { properties: Record<string, unknown> }[])
    properties.svc_id = 7;
  await t.rejects(bench.import(layer, twice), { code: "import_failed" });
  t.equal(await bench.state(layer), before);
});

t.test("an import inside a request's transaction waits for no lock of its own", async (t) => {
  const layer = await bench.layer();
  const path = bench.file(many(6_000));
  const single = new SingleTransaction(db, async () => undefined);
  const waits: string[] = [];
  const timer = setInterval(async () => {
    const waiting = await db.query<{ query: string }>(
      "select query from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0 and datname = current_database() and usename = current_user",
    );
    if (waiting.length === 0) return;
    waits.push(...waiting.map(({ query }) => query));
    clearInterval(timer);
    await db.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0 and datname = current_database() and usename = current_user",
    );
  }, 50);
  const { inserted } = await importIntoLayer(
    { ...bench.deps, db: single },
    { layerId: layer, language: "en" },
    { files: [{ path, name: path }], action: "merge" },
  );
  await single.commit(async () => undefined);
  clearInterval(timer);
  t.same(waits, []);
  t.equal(inserted, 6_000);
  const [count] = await db.query(`select count(*)::int as rows from layers.l${layer}`);
  t.same(count, { rows: 6_000 });
  t.same(await staged(), []);
});

t.test("a constraint that is set meanwhile is not passed over", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, many(10));
  const before = await bench.objects(layer);
  const path = bench.file(many(6_000, 100));
  let set: Promise<unknown> | undefined;
  const running = importIntoLayer(
    bench.deps,
    { layerId: layer, language: "en" },
    { files: [{ path, name: path }], action: "replace" },
    {
      onProgress: ({ phase }) => {
        if (phase === "writing")
          set = db.execute(
            `insert into column_constraint (layer_id, type, column_ids, definition, sort)
             select ${layer}, 'range', array[id], '[0, 50]', 1 from layer_column where layer_id = ${layer} and code = 'n'`,
          );
      },
    },
  );
  t.match(await running.catch((error: unknown) => error), {
    code: "import_failed",
    message: /constraints were changed/,
  });
  t.equal(await set, 1);
  t.same(await bench.objects(layer), before);
  t.same(await staged(), []);
});

t.test("a layer that is deleted meanwhile is not found", async (t) => {
  const layer = await bench.layer();
  const path = bench.file(many(6_000));
  let deleted: Promise<unknown> | undefined;
  const running = importIntoLayer(
    bench.deps,
    { layerId: layer, language: "en" },
    { files: [{ path, name: path }], action: "merge" },
    {
      onProgress: ({ phase }) => {
        if (phase === "writing") deleted = deleteLayer(db, bench.mapId, layer).then(() => removeAll(db));
      },
    },
  );
  t.match(await running.catch((error: unknown) => error), { kind: "not_found" });
  t.equal(await deleted, true);
  t.same(await staged(), []);
});
