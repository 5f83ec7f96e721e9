import t from "tap";
import { addColumns } from "../../src/catalog/columns.js";
import { changeLayer, createLayer, deleteLayer } from "../../src/catalog/layers.js";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import { createMap, listMaps, setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { versionStep } from "../../src/changes/layer-version.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
t.teardown(async () => {
  await db.close();
  await database.drop();
});
const project = await createProject(db, { code: "p", languages: ["ru", "en"] });

const load = async (code: string) => (await loadMap(db, (await loadProject(db, "p"))!, code))!;
const order = async (code: string, parent = 0) =>
  ((await load(code)).children.get(parent) ?? []).map((node) => `${node.code}${node.sort}`).join(" ");
const tables = async () =>
  (
    await db.query<{ name: string }>(
      "select relname as name from pg_class c where relnamespace = 'layers'::regnamespace and relkind = 'r' order by 1",
    )
  ).map((row) => row.name);
/** A folder, made as the database sees it. */
const folder = async (map: number, code: string, parent: number | null = null) =>
  (
    await db.query<{ id: number }>(
      "insert into node (map_id, parent_id, type, code, sort) values ($1, $2, 'folder', $3, 1) returning id",
      [map, parent, code],
    )
  )[0]!.id;

t.test("maps are made published, in order, with codes of their own", async (t) => {
  const id = await createMap(db, project, { code: "one", cssStyle: "Map {}" });
  await createMap(db, project, { code: "two", name: { name: "", localized: true, names: { ru: "Два" } } });
  await t.rejects(createMap(db, project, { code: "one" }), { code: "code_exists" });
  for (const code of ["", "a b", "x".repeat(65), "карта", "a/b", "maps", "login"]) {
    await t.rejects(createMap(db, project, { code }), { code: "invalid_code" }, code);
  }
  t.match(await listMaps(db, project), [
    { id, code: "one", has_publication: true },
    { code: "two", has_publication: true },
  ]);
  t.equal(await setPublication(db, project, "one", false), id);
  t.equal((await load("one")).hasPublication, false);
  await t.rejects(setPublication(db, project, "none", true), failure("not_found"));
});

t.test("a layer comes with its table, columns, code and style", async (t) => {
  const map = await createMap(db, project, { code: "made" });
  const made = await createLayer(db, map, {
    geometryKind: "Point",
    columns: [
      { code: "name", type: "string", required: true },
      { code: "count", type: "number" },
      { code: "at", type: "datetime" },
      { code: "open", type: "bool" },
      { code: "papers", type: "file" },
      { code: "more", type: "json" },
      { code: "title", type: "title" },
      { code: "label", type: "text", localizedValue: true },
      { code: "constructor", type: "text" },
      { code: "ctid", type: "text" },
    ],
  });
  t.match(made.code, /^[a-z0-9]{2,12}$/);
  const layer = (await load("made")).layers.get(made.code)!;
  t.match(layer, {
    id: made.id,
    type: "layer",
    parentId: null,
    sort: 1,
    geometryKind: "Point",
    selected: true,
  });
  t.match(layer.cssStyle, /marker-width/);
  t.same(
    layer.columns.map((column) => [column.code, column.sort]),
    [
      "svc_id",
      "geom",
      "name",
      "count",
      "at",
      "open",
      "papers",
      "more",
      "title",
      "label",
      "constructor",
      "ctid",
    ].map((code, i) => [code, i + 1]),
  );
  const physical = await db.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 order by attnum`,
    [`layers.l${made.id}`],
  );
  t.same(
    physical.filter((column) => column.name.startsWith("c")).map((column) => column.type),
    [
      "text",
      "double precision",
      "timestamp with time zone",
      "boolean",
      "bigint[]",
      "jsonb",
      "jsonb",
      "text",
      "text",
    ],
  );
  for (const column of layer.columns) {
    if (column.type !== "title")
      t.ok(
        physical.some(({ name }) => name === column.physical),
        column.code,
      );
  }
  await db.execute(`insert into layers.l${made.id} (geom) values (st_setsrid(st_point(1, 2), 4326))`);
  const [row] = await db.query<{ version: number }>("select version from layer where id = $1", [made.id]);
  t.equal(Math.floor(row!.version / versionStep), 2, "its edits are in the change log");
});

t.test("column codes keep to their rules", async (t) => {
  const map = await createMap(db, project, { code: "columns" });
  const { id } = await createLayer(db, map, { code: "l" });
  const add = (...codes: string[]) =>
    db.transaction((tx) =>
      addColumns(
        tx,
        id,
        codes.map((code) => ({ code, type: "text" as const })),
      ),
    );
  for (const code of ["", "1a", 'a"b', "a-b", "x".repeat(45), "имя", "__proto__"]) {
    await t.rejects(add(code), { code: "invalid_code" }, code);
  }
  for (const codes of [["svc_id"], ["geom"], ["a", "a"]])
    await t.rejects(add(...codes), { code: "code_exists" });
  t.same(
    (await add("b", "a")).map((column) => [column.code, column.sort]),
    [
      ["b", 3],
      ["a", 4],
    ],
  );
  await t.rejects(add("b"), { code: "code_exists" });
  await t.rejects(add(...Array.from({ length: 1_000 }, (_, i) => `x${i}`)), { code: "invalid_value" });
  t.equal((await load("columns")).layers.get("l")!.columns.length, 4);
});

t.test("sort gives an element its place, and its siblings are numbered 1 to n", async (t) => {
  const map = await createMap(db, project, { code: "order" });
  const ids: Record<string, number> = {};
  for (const code of ["a", "b", "c"]) ids[code] = (await createLayer(db, map, { code })).id;
  t.equal(await order("order"), "a1 b2 c3");
  ids.d = (await createLayer(db, map, { code: "d", sort: 1 })).id;
  t.equal(await order("order"), "d1 a2 b3 c4");
  await changeLayer(db, map, ids.d, { sort: 3 });
  t.equal(await order("order"), "a1 b2 d3 c4");
  await changeLayer(db, map, ids.c!, { sort: 1.5 });
  t.equal(await order("order"), "a1 c2 b3 d4");
  await changeLayer(db, map, ids.a!, { sort: 2.5 });
  t.equal(await order("order"), "c1 a2 b3 d4");
  await changeLayer(db, map, ids.c!, { sort: 99 });
  t.equal(await order("order"), "a1 b2 d3 c4");
  await changeLayer(db, map, ids.c!, { sort: -5 });
  t.equal(await order("order"), "c1 a2 b3 d4");

  const box = await folder(map, "box");
  await changeLayer(db, map, ids.a!, { parentId: box });
  await changeLayer(db, map, ids.b!, { parentId: box, sort: 1 });
  t.equal(await order("order", box), "b1 a2");
  await changeLayer(db, map, ids.b!, { parentId: map });
  t.match(await order("order"), / b5$/);
});

t.test("parents are folders of the same map", async (t) => {
  const map = await createMap(db, project, { code: "parents" });
  const other = await createMap(db, project, { code: "parents2" });
  const foreign = await folder(other, "foreign");
  const layer = await createLayer(db, map, {});
  for (const parentId of [foreign, layer.id, other, 999_999, -1]) {
    await t.rejects(createLayer(db, map, { parentId }), failure("not_found"), String(parentId));
    await t.rejects(changeLayer(db, map, layer.id, { parentId }), failure("not_found"), String(parentId));
  }
  await t.rejects(createLayer(db, 999_999, {}), failure("not_found"));
  await t.rejects(changeLayer(db, other, layer.id, { code: "x" }), failure("not_found"));
  await t.rejects(deleteLayer(db, other, layer.id), failure("not_found"));
  t.equal((await load("parents")).nodes.size, 1);
});

t.test("layer codes are unique in their map, apart from folders'", async (t) => {
  const map = await createMap(db, project, { code: "codes" });
  await folder(map, "same");
  const layer = await createLayer(db, map, { code: "same" });
  await t.rejects(createLayer(db, map, { code: "same" }), { code: "code_exists" });
  await t.rejects(createLayer(db, map, { code: "a b" }), { code: "invalid_code" });
  const [next] = await db.query<{ id: number }>("select last_value as id from container_id");
  const second = await createLayer(db, map, { code: `l${(next!.id + 2).toString(36)}` });
  const third = await createLayer(db, map, {});
  t.equal(third.code, `${second.code}-2`, "a generated code makes way for a chosen one");
  await t.rejects(changeLayer(db, map, layer.id, { code: second.code }), { code: "code_exists" });
  await changeLayer(db, map, layer.id, { code: "same", name: { name: "N", localized: false, names: {} } });
  await changeLayer(db, map, layer.id, { code: "renamed" });
  t.match((await load("codes")).layers.get("renamed"), { id: layer.id, name: "N" });
});

t.test("a failed creation leaves nothing behind", async (t) => {
  const map = await createMap(db, project, { code: "whole" });
  const before = await tables();
  await t.rejects(createLayer(db, map, { columns: [{ code: "1", type: "text" }] }), { code: "invalid_code" });
  t.same(await tables(), before);
  t.equal((await load("whole")).nodes.size, 0);
});
