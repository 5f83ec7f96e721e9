import pg from "pg";
import t from "tap";
import { migrate } from "../../src/storage/migrate.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { waitFor } from "../support/server.js";

/** Installations whose tables held flat geometry alone are brought up without writing those anew. */

const database = await freshDatabase({ before: "014" });
t.teardown(() => database.drop());
const connect = async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set search_path = mapwright, public");
  t.teardown(() => client.end());
  return client;
};
const client = await connect();
const rows = async (text: string) => (await client.query({ text, rowMode: "array" })).rows;

/** A layer with a text column and objects that are enough for generalization levels. */
const source = await makeLayer(client);
const column = (
  await client.query(
    "insert into layer_column (layer_id, code, type) values ($1, 'name', 'string') returning id",
    [source.layerId],
  )
).rows[0].id;
await client.query(`alter table ${source.table} add column c${column} text`);
await client.query(
  `insert into ${source.table} (geom, c${column})
   select st_setsrid(st_makeline(array(select st_point(k % 170 + n * 0.01, 40 + (n * 7 % 13) * 0.01) from generate_series(0, 99) n)), 4326),
     'line ' || k from generate_series(1, 400) k`,
);
await client.query(`insert into ${source.table} (geom) values (null), (st_setsrid(st_point(0, 89), 4326))`);
await client.query(
  `create index s${column}_exact on ${source.table} (left(mapwright.search_fold(c${column}), 100))`,
);
await client.query("select generalize_layer($1)", [source.layerId]);

/** Layers made from it, one of them from the other, and a view that the server knows nothing of. */
const virtual = await derived("virtual", source.layerId);
const material = await derived("material", virtual);
const view = (name: string, from: number) =>
  client.query(`create view ${name} as select svc_id, geom from layers.l${from} where svc_id > 10`);
await client.query(
  `create view layers.l${virtual} as select svc_id, geom, geom_3857, c${column} as c${column + 1} from ${source.table} where c${column} like 'line %'`,
);
await client.query("select create_layer_table($1)", [material]);
await view(`layers.l${material}_source`, virtual);
await client.query(
  `insert into layers.l${material} (svc_id, geom) select svc_id, geom from layers.l${material}_source`,
);
await client.query("create schema others");
await view("others.seen", material);
await client.query("grant select on others.seen to public");
await client.query(`grant select on layers.l${virtual} to public`);

async function derived(type: string, from: number): Promise<number> {
  const { rows } = await client.query(
    "insert into node (map_id, type, code) values ($1, $2, $2) returning id",
    [source.mapId, type],
  );
  await client.query("insert into layer (id, source_id) values ($1, $2)", [rows[0].id, from]);
  return Number(rows[0].id);
}

/** All that is read of geometry, drawn or not. */
const contents = async () => ({
  source: await rows(
    `select svc_id, st_asewkb(geom), st_asewkb(geom_3857), c${column} from ${source.table} order by 1`,
  ),
  virtual: await rows(`select * from layers.l${virtual} order by svc_id`),
  material: await rows(`select svc_id, geom, geom_3857 from layers.l${material} order by svc_id`),
  own: await rows("select * from others.seen order by svc_id"),
  views: await rows(
    "select schemaname, viewname, definition from pg_views where schemaname in ('layers', 'others') order by 1, 2",
  ),
  rights: await rows(
    "select relname, a.grantee, a.privilege_type from pg_class, aclexplode(relacl) a where relkind = 'v' and relname ~ '^(l\\d|seen)' order by 1, 2, 3",
  ),
  versions: await rows("select id, version from layer where id > 0 order by id"),
});
/** Where tables and indexes lie: they move when they are written anew. */
const files = () =>
  rows(
    "select relname, pg_relation_filenode(oid) from pg_class where relnamespace = 'layers'::regnamespace and relkind in ('r', 'i') order by 1",
  );
const flatTables = () =>
  rows(
    "select attrelid::regclass::text from pg_attribute where attname = 'geom_3857' and attgenerated = 's' order by 1",
  );

const before = { contents: await contents(), files: await files() };

t.test("tables that are in use wait, and the others do not wait for them", async (t) => {
  const reader = await connect();
  await reader.query(`begin; select from ${source.table} limit 1`);
  const other = await connect();
  const upgrade = migrate(other);
  await waitFor(async () => (await flatTables()).length === 1);
  t.same(await flatTables(), [[source.table]]);
  await reader.query("commit");
  t.match(await upgrade, /014_heights_tables.sql/);
  t.same(await flatTables(), []);
});

t.test("objects, views, rights and versions are as before, and nothing was written anew", async (t) => {
  t.same(await contents(), before.contents);
  t.same(await files(), before.files);
});

t.test("the tables are those of new layers", async (t) => {
  const made = await makeLayer(client);
  const shape = (table: string) =>
    rows(`select attname, format_type(atttypid, atttypmod), attgenerated from pg_attribute
      where attrelid = '${table}'::regclass and attnum between 1 and 3 order by 1`);
  const guards = (table: string) =>
    rows(`select conname, replace(pg_get_constraintdef(oid), '${table}', '') from pg_constraint
      where conrelid = '${table}'::regclass and contype = 'c'
      union all select tgname, replace(pg_get_triggerdef(oid), '${table}', '') from pg_trigger
      where tgrelid = '${table}'::regclass and tgname = 'project_geom' order by 1`);
  t.same(await shape(source.table), await shape(made.table));
  t.same(await guards(source.table), await guards(made.table));
});

t.test("they take heights, and keep up what is drawn", async (t) => {
  await client.query(`update ${source.table} set geom = st_force3dz(geom, 7) where svc_id = 20`);
  const same = "st_zmflag(geom) = 2 and st_equals(geom_3857, st_transform(st_force2d(geom), 3857))";
  t.same(await rows(`select ${same} from ${source.table} where svc_id = 20`), [[true]]);
  t.same(await rows(`select st_zmflag(geom) from layers.l${virtual} where svc_id = 20`), [[2]]);
  t.same(await rows(`select st_zmflag(geom) from layers.l${material}_source where svc_id = 20`), [[2]]);
  const [[band]] = (await rows(`select bands[1] from layer where id = ${source.layerId}`)) as [[number]];
  t.same(await rows(`select distinct st_zmflag(geom) from ${source.table}_z${band}`), [[0]]);
});

t.test("an upgrade that broke off is carried on", async (t) => {
  await client.query("delete from migration where name = '014_heights_tables.sql'");
  t.same(await migrate(client), ["014_heights_tables.sql"]);
  t.same(await migrate(client), []);
});
