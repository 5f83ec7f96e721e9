import pg from "pg";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { createDerived, type DerivedType } from "../../src/catalog/derived.js";
import { createFolder, deleteFolder } from "../../src/catalog/folders.js";
import { createLayer, deleteLayer } from "../../src/catalog/layers.js";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import { createMap, deleteMap, findMapId, listMaps } from "../../src/catalog/maps.js";
import { createProject, deleteProject, listProjects } from "../../src/catalog/projects.js";
import { removeAll, removePortion, startRemoval } from "../../src/catalog/removal.js";
import { createColumn, deleteColumn } from "../../src/catalog/structure.js";
import type { Log } from "../../src/log.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { asSuperuser, freshDatabase } from "../support/database.js";
import { failure } from "../support/failure.js";
import { makeLayers } from "../support/layers.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** What is deleted is gone at once, and its tables are removed behind everybody's back. */

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

const load = async (code: string, of = "p") => {
  const found = await loadProject(db, of);
  return found && !found.hidden ? loadMap(db, found, code) : undefined;
};
/** Tables and views of objects. */
const relations = async () =>
  (
    await db.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'layers'::regnamespace and relkind in ('r', 'v') order by 1",
    )
  ).map(({ name }) => name);
const nothingDeleted = async () => (await db.query("select 1 from map where project_id = 0")).length === 0;
const derive = (map: number, type: DerivedType, sourceId: number) =>
  createDerived(db, map, { type, sourceId, filter: "", condition: undefined, columns: undefined });
const folder = (map: number, code: string, parentId = 0) => createFolder(db, map, { code, parentId });
const removeMap = async (code: string) => deleteMap(db, await findMapId(db, project, code));
const removeFolder = (map: number, id: number) => deleteFolder(db, map, id, { mayDelete: () => true });

t.test("a project that is deleted is nowhere to be found, and its code is free", async (t) => {
  const doomed = await createProject(db, { code: "doomed" });
  const map = await createMap(db, doomed, { code: "m" });
  const layer = await createLayer(db, map, { code: "l" });
  await setGrant(db, { project: "doomed", map: "m", layer: "l", login: null }, 1);
  await deleteProject(db, "doomed");
  t.notOk(await load("m", "doomed"));
  await t.rejects(deleteProject(db, "doomed"), { code: "project_not_found" });
  t.same(
    (await listProjects(db)).map(({ code }) => code),
    ["p"],
  );
  await t.rejects(createLayer(db, map, {}), failure("not_found"));
  await t.rejects(deleteLayer(db, map, layer.id), failure("not_found"));
  t.ok((await relations()).includes(`l${layer.id}`), "its objects are still there");
  const again = await createProject(db, { code: "doomed" });
  t.same(await listMaps(db, again), []);
  t.ok(await removeAll(db));
  t.notOk((await relations()).includes(`l${layer.id}`));
  t.ok(await loadProject(db, "doomed"), "the new project stays");
  await deleteProject(db, "doomed");
});

t.test("so is a map, with the rights on it", async (t) => {
  const map = await createMap(db, project, { code: "gone" });
  const layer = await createLayer(db, map, { code: "l" });
  await setGrant(db, { project: "p", map: "gone", login: null }, 1);
  await setGrant(db, { project: "p", map: "gone", layer: "l", login: null }, 1);
  await removeMap("gone");
  t.notOk(await load("gone"));
  t.same(await listMaps(db, project), []);
  t.same((await loadProject(db, "p"))!.grants, []);
  await t.rejects(removeMap("gone"), failure("not_found"));
  t.ok(await createMap(db, project, { code: "gone" }));
  t.ok(await removeAll(db));
  t.notOk((await relations()).includes(`l${layer.id}`));
  t.ok(await load("gone"), "the new map stays");
});

t.test("so are folders with all in them, and layers, with what the map says of them", async (t) => {
  const map = await createMap(db, project, { code: "tree" });
  const top = await folder(map, "top");
  const inner = await folder(map, "inner", top);
  const deep = await createLayer(db, map, { code: "deep", parentId: inner });
  const high = await createLayer(db, map, { code: "high", parentId: top });
  const alone = await createLayer(db, map, { code: "alone" });
  const kept = await createLayer(db, map, { code: "kept" });
  await client.query(
    `insert into search_setting (map_id, place, layer_id, search_column_id, name_column_id)
     select $1, id, layer_id, id, id from layer_column where layer_id = any($2) and code = 'svc_id'`,
    [map, [deep.id, alone.id, kept.id]],
  );
  const revision = (await load("tree"))!.revision;
  t.same((await removeFolder(map, top)).sort(), [deep.id, high.id].sort());
  await deleteLayer(db, map, alone.id);
  const now = (await load("tree"))!;
  t.ok(now.revision > revision, "nodes are told of it");
  t.same([...now.nodes.keys()], [kept.id]);
  t.same((await client.query("select layer_id from search_setting where map_id = $1", [map])).rows, [
    { layer_id: String(kept.id) },
  ]);
  t.equal(await removeFolder(map, await folder(map, "top")).then((layers) => layers.length), 0);
  t.equal((await createLayer(db, map, { code: "alone" })).code, "alone");
  t.ok(await removeAll(db));
  for (const { id } of [deep, high, alone]) t.notOk((await relations()).includes(`l${id}`));
  t.ok((await relations()).includes(`l${kept.id}`));
  t.ok(await nothingDeleted());
});

t.test("a layer that others are made from stays, unless they were deleted", async (t) => {
  const map = await createMap(db, project, { code: "sources" });
  const inside = await folder(map, "f");
  const source = await createLayer(db, map, { code: "source", parentId: inside });
  await createColumn(
    db,
    { mapId: map, layerId: source.id, mainLanguage: "en" },
    { code: "name", type: "string" },
  );
  const view = await derive(map, "virtual", source.id);
  const copy = await derive(map, "material", view.id);
  const refused = { code: "invalid_value", data: { layers: [view.code] } };
  await t.rejects(deleteLayer(db, map, source.id), refused);
  await t.rejects(removeFolder(map, inside), refused);
  await t.rejects(deleteLayer(db, map, view.id), { code: "invalid_value", data: { layers: [copy.code] } });
  t.ok(await load("sources"));
  await deleteLayer(db, map, copy.id);
  await deleteLayer(db, map, view.id);
  t.ok((await relations()).includes(`l${view.id}`));
  await deleteColumn(db, { mapId: map, layerId: source.id, mainLanguage: "en" }, "name");
  t.notOk((await relations()).includes(`l${view.id}`), "views of deleted layers hold no column");
  await removeFolder(map, inside);
  t.ok(await removeAll(db));
  for (const { id } of [source, view, copy])
    t.notOk((await relations()).some((name) => name.startsWith(`l${id}`)));
});

t.test("derived layers are removed before their sources, whichever portion they come in", async (t) => {
  const map = await createMap(db, project, { code: "chains" });
  const sources = await makeLayers(client, map, 60);
  for (const id of sources.slice(0, 10)) await derive(map, "material", (await derive(map, "virtual", id)).id);
  await removeMap("chains");
  t.ok(await removeAll(db));
  for (const id of sources) t.notOk((await relations()).includes(`l${id}`));
  t.ok(await nothingDeleted());
});

t.test("a portion is bounded, by generalised tables and indexes too", async (t) => {
  const map = await createMap(db, project, { code: "portions" });
  const ids = await makeLayers(client, map, 120);
  await removeMap("portions");
  const first = await removePortion(db);
  t.match(first, { removed: 50, left: true, reasons: [] });
  t.ok(await removeAll(db));
  t.notOk((await relations()).some((name) => ids.includes(Number(name.slice(1)))));

  const large = await createMap(db, project, { code: "large" });
  const generalized = await makeLayers(client, large, 30);
  await client.query("update layer set bands = '{4,6,8,10}' where id = any($1)", [generalized]);
  for (const id of generalized)
    for (const level of [4, 6, 8, 10])
      await client.query(`create table layers.l${id}_z${level} (svc_id bigint primary key, geom geometry)`);
  await removeMap("large");
  const { removed } = await removePortion(db);
  t.ok(removed > 5 && removed < 25, `${removed} layers with generalization levels in a portion`);
  t.ok(await removeAll(db));
  t.notOk((await relations()).some((name) => /_z\d+$/.test(name)));
});

t.test("a layer that is written to is left until that is over, and the others go", async (t) => {
  const map = await createMap(db, project, { code: "busy" });
  const ids = await makeLayers(client, map, 10);
  const writer = await db.dedicated();
  t.teardown(() => writer.end());
  await writer.query("begin");
  await writer.query(`insert into layers.l${ids[3]} (geom) values (null)`);
  await removeMap("busy");
  t.notOk(await load("busy"), "nobody had to wait");
  t.match(await removePortion(db), { removed: 9, left: true, reasons: [] });
  t.same(
    (await relations()).filter((name) => ids.includes(Number(name.slice(1)))),
    [`l${ids[3]}`],
  );
  await writer.query("commit");
  t.ok(await removeAll(db));
  t.notOk((await relations()).includes(`l${ids[3]}`));
});

t.test("what is left by one process is found by the next, at its start", async (t) => {
  const map = await createMap(db, project, { code: "left" });
  const ids = await makeLayers(client, map, 60);
  await removeMap("left");
  await removePortion(db);
  t.notOk(await nothingDeleted());
  const removal = startRemoval(db, quietLog);
  t.teardown(() => removal.stop());
  await waitFor(nothingDeleted);
  t.notOk((await relations()).some((name) => ids.includes(Number(name.slice(1)))));
  const next = await createLayer(db, await createMap(db, project, { code: "next" }), {});
  await removeMap("next");
  await waitFor(nothingDeleted);
  t.notOk((await relations()).includes(`l${next.id}`), "what is deleted later is found too");
  await removal.stop();
});

t.test("what cannot be removed is told, and holds nothing up", async (t) => {
  const map = await createMap(db, project, { code: "foreign" });
  const ids = await makeLayers(client, map, 120);
  const name = new URL(database.url).pathname.slice(1);
  const owner = (role: string) =>
    asSuperuser(name, (superuser) => superuser.query(`alter table layers.l${ids[2]} owner to ${role}`));
  await owner("postgres");
  await removeMap("foreign");
  const told: string[] = [];
  const removal = startRemoval(db, {
    ...quietLog,
    warn: ({ err }: { err: Error }) => told.push(err.message),
  } as unknown as Log);
  t.teardown(() => removal.stop());
  await waitFor(() => told.length > 0);
  t.match(told, [/permission denied|must be owner/]);
  t.same(
    (await relations()).filter((table) => ids.includes(Number(table.slice(1)))),
    [`l${ids[2]}`],
  );
  await t.rejects(removeAll(db), /permission denied|must be owner/);
  await removal.stop();
  await owner(name);
  t.ok(await removeAll(db));
});

t.test("rows of files go first, and with them nothing else", async (t) => {
  const map = await createMap(db, project, { code: "files" });
  const [id] = await makeLayers(client, map, 1);
  const kept = (await makeLayers(client, await createMap(db, project, { code: "kept" }), 1))[0];
  for (const layer of [id, kept]) {
    await client.query(
      `insert into file (uuid, layer_id, object_id, column_id, name, mime, bytes)
       select gen_random_uuid(), $1, n, (select max(id) from layer_column where layer_id = $1), 'f', 'text/plain', 1
       from generate_series(1, 30) n`,
      [layer],
    );
  }
  await removeMap("files");
  t.match(await removePortion(db), { removed: 30, left: true });
  t.ok((await relations()).includes(`l${id}`));
  t.ok(await removeAll(db));
  const { rows } = await client.query("select layer_id, count(*)::int as files from file group by 1");
  t.same(rows, [{ layer_id: String(kept), files: 30 }]);
});
