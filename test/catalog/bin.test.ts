import pg from "pg";
import t from "tap";
import { addMember, removeMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { deleterOf } from "../../src/catalog/bin.js";
import { listBin, purgeBin } from "../../src/catalog/bin-contents.js";
import { restoreColumn } from "../../src/catalog/column-bin.js";
import { createDerived } from "../../src/catalog/derived.js";
import { createFolder, deleteFolder } from "../../src/catalog/folders.js";
import { createLayer, deleteLayer } from "../../src/catalog/layers.js";
import { createMap, deleteMap, findMapId } from "../../src/catalog/maps.js";
import { createProject, deleteProject } from "../../src/catalog/projects.js";
import { savePublication } from "../../src/catalog/publication.js";
import { removeAll } from "../../src/catalog/removal.js";
import { restore } from "../../src/catalog/restore.js";
import { changeOf, merge } from "../../src/catalog/restore-publication.js";
import { changeColumn, createColumn, deleteColumn } from "../../src/catalog/structure.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";

/** What was deleted comes back from the bin with all that hung on it, or goes for good. */

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
const client = new pg.Client({ connectionString: database.url });
await client.connect();
await client.query("set search_path = mapwright, public");
t.teardown(async () => {
  await client.end();
  await db.close();
  await database.drop();
});
const project = await createProject(db, { code: "p" });
const by = deleterOf({ bin: { days: 30 } })!;
const bin = () => listBin(db, project);
const newest = async () => (await bin())[0]!;
const back = async (code?: string) => {
  const { id, kind, mapId, layerId } = await newest();
  if (kind === "column") return restoreColumn(db, project, { id, mapId, layerId: layerId! }, code);
  return restore(db, project, id, code);
};

const tables = [
  "map",
  "node",
  "layer",
  "layer_column",
  "column_constraint",
  "access_grant",
  "search_setting",
  "file",
] as const;
/** All rows of the catalogue, and the objects, but for counters of changes. */
async function dump(layers: readonly number[] = []): Promise<object> {
  const found: Record<string, unknown> = {};
  for (const table of tables) {
    const { rows } = await client.query(
      `select to_jsonb(r) - '{revision,version,previous_version,changed_at}'::text[] as row from ${table} r
       order by to_jsonb(r)::text`,
    );
    found[table] = rows.map(({ row }) => row);
  }
  for (const id of layers) {
    const { rows } = await client.query(`select * from layers.l${id} order by svc_id`);
    found[`objects of ${id}`] = rows;
  }
  return found;
}

const target = (mapId: number, layerId: number) => ({ mapId, layerId, mainLanguage: "en" });

/** A map with two folders, a layer with columns, objects, rights, constraints, searches and a publication tree. */
async function world(code: string) {
  const map = await createMap(db, project, { code });
  const top = await createFolder(db, map, { code: "top" });
  const inner = await createFolder(db, map, { code: "inner", parentId: top });
  const layer = await createLayer(db, map, {
    code: "pipes",
    parentId: inner,
    columns: [
      { code: "head", type: "title" },
      { code: "name", type: "string" },
      { code: "size", type: "number" },
    ],
  });
  const beside = await createLayer(db, map, { code: "beside" });
  const { rows } = await client.query("select id, code from layer_column where layer_id = $1", [layer.id]);
  const column = Object.fromEntries(rows.map((row) => [row.code, row.id])) as Record<string, number>;
  const at = target(map, layer.id);
  await changeColumn(db, at, "name", { type: "string", parentId: column.head! });
  await changeColumn(db, at, "size", { type: "number", parentId: column.head! });
  await client.query(
    `insert into layers.l${layer.id} (geom, c${column.name}, c${column.size})
     select st_setsrid(st_point(n, n), 4326), 'n' || n, n from generate_series(1, 20) n`,
  );
  await setGrant(db, { project: "p", map: code, login: null }, 3);
  await setGrant(db, { project: "p", map: code, layer: "pipes", login: null }, 1);
  await client.query(
    `insert into search_setting (map_id, place, layer_id, search_column_id, name_column_id, weight_column_id)
     values ($1, 1, $2, $3, $3, $4), ($1, 2, $2, $4, $3, null)`,
    [map, layer.id, column.name, column.size],
  );
  await client.query(
    `insert into column_constraint (layer_id, type, name, column_ids, definition, sort)
     values ($1, 'enum', 'one', array[$2::int], '[1]', 1), ($1, 'enum', 'both', array[$2::int, $3::int], '["n1"]', 2)`,
    [layer.id, column.size, column.name],
  );
  await client.query(`update node set visual_settings = $2, style_mode = 3 where id = $1`, [
    layer.id,
    JSON.stringify({
      ...{ id: 1, type: 1, column: column.size, columnCode: "size" },
      ...{ classesSettings: {}, textSettings: {} },
    }),
  ]);
  await client.query(
    "insert into file (uuid, layer_id, object_id, column_id, name, mime, bytes) values (gen_random_uuid(), $1, 1, $2, 'a', 'b', 5)",
    [layer.id, column.name],
  );
  await savePublication(db, map, [
    { id: 1, parentId: 0, nodeId: top, sort: 1, selected: true, icon: "" },
    { id: 2, parentId: 1, nodeId: layer.id, sort: 1, selected: false, icon: "x" },
    { id: 3, parentId: 0, nodeId: beside.id, sort: 2, selected: true, icon: "" },
  ]);
  return { map, top, inner, layer: layer.id, beside: beside.id, column, at };
}

t.test("a layer, a folder, a map and a column come back as they were", async (t) => {
  const { map, top, layer, at } = await world("whole");
  const before = await dump([layer]);
  const ways = {
    layer: () => deleteLayer(db, map, layer, by),
    folder: () => deleteFolder(db, map, top, { mayDelete: () => true, by }),
    map: () => deleteMap(db, map, { by }),
    number: () => deleteColumn(db, at, "size", by),
    name: () => deleteColumn(db, at, "name", by),
    title: () => deleteColumn(db, at, "head", by),
  };
  for (const [name, remove] of Object.entries(ways)) {
    await remove();
    t.notSame(await dump([layer]), before, `the ${name} is gone`);
    t.ok(await removeAll(db));
    t.match(await back(), { notes: [] }, `the ${name} is back`);
    t.same(await dump([layer]), before, `all of the ${name} is as it was`);
    t.same(await bin(), []);
  }
});

t.test("what is in the bin is measured, and leaves it for good when its time is over", async (t) => {
  const { map, layer, column, at } = await world("old");
  await deleteColumn(db, at, "name", by);
  await deleteLayer(db, map, layer, by);
  const [one, other] = await bin();
  t.match(one, { kind: "layer", code: "pipes", map: "old" });
  t.ok(one!.bytes > 40_000, `${one!.bytes} bytes`);
  t.match(other, { kind: "column", code: "name", map: "old", layer: "pipes", layerId: layer });
  const days = (n: number) => new Date(Date.now() + n * 86_400_000);
  t.equal(await purgeBin(db, { olderThanDays: 30, now: days(29) }), 0);
  await restore(db, project, one!.id);
  t.equal(await purgeBin(db, { olderThanDays: 30, now: days(31) }), 1, "the column");
  const { rows } = await client.query(
    `select 1 from pg_attribute where attrelid = 'layers.l${layer}'::regclass and attname = 'c${column.name}'`,
  );
  t.same(rows, [], "its values went with it");
  await deleteMap(db, map, { by });
  t.equal(await purgeBin(db, { olderThanDays: 30, now: days(31) }), 1);
  t.ok(await removeAll(db));
  t.same((await client.query("select to_regclass($1)::text as name", [`layers.l${layer}`])).rows, [
    { name: null },
  ]);
  t.same(await bin(), []);
});

t.test("what has taken its place is told, and another code is a way out", async (t) => {
  const { map, layer, top, at } = await world("taken");
  await deleteLayer(db, map, layer, by);
  await createLayer(db, map, { code: "pipes" });
  await t.rejects(back(), failure("conflict"));
  await deleteFolder(db, map, top, { mayDelete: () => true, by });
  const [folder, kept] = await bin();
  const { notes } = await restore(db, project, kept!.id, "pipes2");
  t.match(notes, ["Its folder is gone, so that it is directly in the map."]);
  t.match(await restore(db, project, folder!.id), { notes: [], id: top });
  await t.rejects(restore(db, project, folder!.id), failure("not_found"), "only once");
  await deleteColumn(db, at, "name", by);
  await createColumn(db, at, { code: "name", type: "number" });
  await t.rejects(back(), failure("conflict"));
  t.match(await back("label"), { code: "label" });
  await deleteLayer(db, map, layer, by);
  await deleteMap(db, map, { by });
  const [whole, inside] = await bin();
  await createMap(db, project, { code: "taken" });
  await t.rejects(restore(db, project, inside!.id), failure("not_found"), "its map is in the bin");
  await t.rejects(restore(db, project, whole!.id), failure("conflict"));
  await restore(db, project, whole!.id, "given");
  t.equal(await findMapId(db, project, "given"), map);
  await restore(db, project, inside!.id);
});

t.test("layers made from another come back after it, also when its columns were changed", async (t) => {
  const { map, layer, column, at } = await world("made");
  const columns = ["name"];
  const made = await createDerived(db, map, {
    type: "virtual",
    sourceId: layer,
    filter: "",
    condition: undefined,
    columns,
  });
  const copy = await createDerived(db, map, {
    type: "material",
    sourceId: made.id,
    filter: "",
    condition: undefined,
    columns,
  });
  const before = await dump([layer, made.id, copy.id]);
  for (const id of [copy.id, made.id, layer]) await deleteLayer(db, map, id, by);
  const entries = await bin();
  await t.rejects(restore(db, project, entries[1]!.id), {
    code: "invalid_value",
    data: { layers: ["pipes"] },
  });
  for (const { id } of entries) await restore(db, project, id);
  t.same(await dump([layer, made.id, copy.id]), before);
  await deleteLayer(db, map, copy.id, by);
  await deleteLayer(db, map, made.id, by);
  const size = await createColumn(db, at, { code: "more", type: "number" });
  t.ok(size);
  for (const { id } of await bin()) await restore(db, project, id);
  t.equal((await client.query(`select * from layers.l${made.id}`)).rows.length, 20);
  await client.query(`select * from layers.l${copy.id}_source`);
  await deleteLayer(db, map, copy.id, by);
  await deleteLayer(db, map, made.id, by);
  await client.query("delete from column_constraint where layer_id = $1", [layer]);
  await changeColumn(db, at, "name", { type: "number" });
  await t.rejects(back(), { code: "invalid_value" }, "the column has another type");
  t.ok(column);
});

t.test("a column that leaves for good takes no layer of a deleted map with it", async (t) => {
  const { map, layer, at } = await world("views");
  const derived = { sourceId: layer, filter: "", condition: undefined, columns: ["name"] };
  const made = await createDerived(db, map, { ...derived, type: "virtual" });
  const copy = await createDerived(db, map, { ...derived, type: "material", sourceId: made.id });
  await deleteColumn(db, at, "size", by);
  const size = await newest();
  await deleteMap(db, map, { by });
  t.equal(await purgeBin(db, { project, id: size.id }), 1);
  await back();
  const isThere = async () => {
    t.equal((await client.query(`select * from layers.l${made.id}`)).rows.length, 20);
    await client.query(`select * from layers.l${copy.id}_source`);
  };
  await isThere();
  await deleteLayer(db, map, copy.id, by);
  await deleteLayer(db, map, made.id, by);
  await deleteColumn(db, at, "name", by);
  const [name, ...layers] = (await bin()).filter(({ mapId }) => mapId === map);
  for (const { id } of layers) await restore(db, project, id);
  await deleteMap(db, map, { by });
  t.equal(await purgeBin(db, { project, id: name!.id }), 0, "a layer is made from it again");
  await back();
  await isThere();
  await restoreColumn(db, project, { id: name!.id, mapId: map, layerId: layer });
});

t.test("settings of the search name no columns that are gone", async (t) => {
  const { map, layer, column, at } = await world("searched");
  const more = await createColumn(db, at, { code: "more", type: "string" });
  await client.query("update search_setting set detail_column_id = $2 where map_id = $1 and place = 1", [
    map,
    more,
  ]);
  const first = async () =>
    (
      await client.query(
        "select detail_column_id as detail, weight_column_id as weight from search_setting where map_id = $1 and place = 1",
        [map],
      )
    ).rows;
  await deleteColumn(db, at, "size", by);
  const size = await newest();
  await deleteColumn(db, at, "more", by);
  const purged = await newest();
  await restoreColumn(db, project, { id: size.id, mapId: map, layerId: layer });
  t.same(await first(), [{ detail: null, weight: column.size }], "only what names it");
  await deleteColumn(db, at, "size", by);
  await deleteColumn(db, at, "name", by);
  t.equal(await purgeBin(db, { project, id: purged.id }), 1);
  await removeAll(db);
  const [name, other] = await bin();
  await restoreColumn(db, project, { id: name!.id, mapId: map, layerId: layer });
  await restoreColumn(db, project, { id: other!.id, mapId: map, layerId: layer });
  t.ok(await first());
  await client.query("update search_setting set detail_column_id = $2 where map_id = $1", [
    map,
    await createColumn(db, at, { code: "late", type: "string" }),
  ]);
  await deleteColumn(db, at, "name", by);
  await deleteColumn(db, at, "late", by);
  const [late, named] = await bin();
  t.equal(await purgeBin(db, { project, id: late!.id }), 1);
  await removeAll(db);
  t.match(await restoreColumn(db, project, { id: named!.id, mapId: map, layerId: layer }), { code: "name" });
});

t.test("rights that were withdrawn meanwhile stay withdrawn", async (t) => {
  const { map, layer } = await world("rights");
  const other = await createProject(db, { code: "elsewhere" });
  const ann = { login: "ann", password: "correct horse", role: "viewer" } as const;
  const { id } = await addMember(db, { ...ann, projectId: project });
  await addMember(db, { ...ann, projectId: other, accountId: id });
  await setGrant(db, { project: "p", map: "rights", login: "ann" }, 15);
  await setGrant(db, { project: "p", map: "rights", layer: "pipes", login: "ann" }, 15);
  await deleteLayer(db, map, layer, by);
  await deleteMap(db, map, { by });
  await removeMember(db, "ann", project);
  const grants = async () =>
    (await client.query("select 1 from access_grant where map_id = $1 and account_id is not null", [map]))
      .rows;
  await back();
  t.same(await grants(), []);
  await addMember(db, { ...ann, projectId: project, accountId: id });
  await back();
  t.same(await grants(), [], "also of who has come back");
  t.equal((await client.query("select 1 from access_grant where map_id = $1", [map])).rows.length, 2);
});

t.test("a layer in use keeps none but its own columns in the bin", async (t) => {
  const [used, free] = [await world("used"), await world("free")];
  for (const { at } of [used, free])
    for (const code of ["size", "name"]) await deleteColumn(db, at, code, by);
  const inBin = async () => (await bin()).filter(({ map }) => map === "used" || map === "free");
  await client.query("begin");
  await client.query(`select 1 from layers.l${used.layer}`);
  const later = { olderThanDays: 30, now: new Date(Date.now() + 31 * 86_400_000) };
  await purgeBin(db, later);
  t.same(
    (await inBin()).map(({ map }) => map),
    ["used", "used"],
  );
  await client.query("commit");
  t.equal(await purgeBin(db, later), 2);
});

t.test("only lists are measured, some at a time", async (t) => {
  const { at } = await world("measured");
  await deleteColumn(db, at, "size", by);
  await client.query(
    `insert into bin (project_id, kind, item_id, code, name, map_id, map_code, layer_id, kept, deleted_login)
     select project_id, kind, item_id, code, name, map_id, map_code, layer_id, kept, '' from bin, generate_series(1, 150)
     where map_id = $1`,
    [at.mapId],
  );
  const unmeasured = async () =>
    (await client.query("select 1 from bin where map_id = $1 and bytes is null", [at.mapId])).rows.length;
  const { rows } = await client.query("select id from bin where map_id = $1 order by id", [at.mapId]);
  await listBin(db, project, rows[0].id);
  t.equal(await unmeasured(), 151);
  await bin();
  t.equal(await unmeasured(), 51);
  await client.query("delete from bin where map_id = $1 and id > $2", [at.mapId, rows[0].id]);
});

t.test("a map gets no more folders and layers back than it can have", async (t) => {
  const { map, top } = await world("full");
  await deleteFolder(db, map, top, { mayDelete: () => true, by });
  await client.query(
    "insert into node (map_id, type, code) select $1, 'folder', 'f' || n from generate_series(1, 9998) n",
    [map],
  );
  await t.rejects(back(), { code: "invalid_value" });
  await client.query("delete from node where map_id = $1 and code in ('f1', 'f2')", [map]);
  await back();
  await deleteMap(db, map);
});

t.test("two who restore at once, and one who is cut off, do it once or not at all", async (t) => {
  const { map, layer } = await world("twice");
  const before = await dump([layer]);
  await deleteLayer(db, map, layer, by);
  const { id } = await newest();
  await t.rejects(
    db.transaction((tx) =>
      restore(
        { transaction: (work: (tx: unknown) => unknown) => work(tx), query: tx.query.bind(tx) } as never,
        project,
        id,
      ).then(() => {
        throw new Error("cut off");
      }),
    ),
    /cut off/,
  );
  const both = await Promise.allSettled([restore(db, project, id), restore(db, project, id)]);
  t.same(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  t.same(await dump([layer]), before);
});

t.test("a project takes its bin with it", async (t) => {
  const other = await createProject(db, { code: "other" });
  const map = await createMap(db, other, { code: "m" });
  const { id } = await createLayer(db, map, { code: "l", columns: [{ code: "c", type: "string" }] });
  await deleteColumn(db, target(map, id), "c", by);
  await deleteLayer(db, map, id, by);
  await deleteProject(db, "other");
  t.ok(await removeAll(db));
  t.same((await client.query("select 1 from bin where project_id = $1", [other])).rows, []);
  t.same((await client.query("select 1 from node where id = $1", [id])).rows, []);
  t.same(
    (
      await client.query(
        "select 1 from layer_column where layer_id = 0 and id not in (select item_id from bin)",
      )
    ).rows,
    [],
  );
});

t.test("a publication tree that was changed meanwhile keeps the change", async (t) => {
  const element = (id: number, parentId: number, nodeId: number) => ({
    id,
    parentId,
    nodeId,
    sort: 1,
    selected: true,
    icon: "",
  });
  const before = [element(1, 0, 10), element(2, 1, 20), element(3, 2, 30)];
  const after = [element(1, 0, 10), element(3, 1, 30)];
  t.same(merge(after, { before, after }), before, "as older versions kept it");
  const kept = changeOf(before, after);
  t.same(kept, { before: before.slice(1), after: after.slice(1), places: [1, 2] }, "only what differs");
  t.same(merge(after, kept), before);
  const now = [element(1, 0, 10), element(3, 0, 30), element(2, 0, 40)];
  for (const change of [{ before, after }, kept])
    t.same(merge(now, change), [element(1, 0, 10), element(4, 1, 20), element(3, 0, 30), element(2, 0, 40)]);
  t.same(merge([element(3, 0, 30)], { before, after }), [element(3, 0, 30), element(2, 0, 20)]);
});
