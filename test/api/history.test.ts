import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import type { LayerNode } from "../../src/catalog/state.js";
import { boundHistory, historyBytes, listHistory, pruneHistory } from "../../src/features/history.js";
import type { Queryable } from "../../src/storage/postgres.js";
import { startServer } from "../support/server.js";
import { send } from "./files.support.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const { db } = server.nodes[0]!.services;
const [editor, admin, viewer] = [
  await server.token("editor"),
  await server.token("admin"),
  await server.token("viewer"),
];
const as = (token: string) => async (method: string, path: string, body?: unknown) => {
  const { status, text, json } = await api(method, path, { token, body });
  if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json;
};
const edit = as(editor);
const other = as(admin);
const L = "m/layers/l";
const status = async (method: string, path: string, body?: unknown, token = editor) =>
  (await api(method, path, { token, body })).status;
const history = async (path = L, more = "values=1") =>
  (await edit("GET", `${path}/history/?${more}`)).entries;
const undo = (id: number, group = 0) => edit("POST", `${L}/history/${id}/undo/`, { group });
const line = (positions: number, lat: number) => ({
  type: "LineString",
  coordinates: Array.from({ length: positions }, (_, index) => [
    (index % 3600) / 10 - 180,
    lat + index / 1e6,
  ]),
});
const point = (lon: number) => ({ type: "Point", coordinates: [lon, 10] });
const object = async (id: number) => edit("GET", `${L}/objects/${id}/?returnGeom=1`);
const add = async (name: string, lon = 10): Promise<number> =>
  (await edit("POST", `${L}/objects/`, { fields: { name }, geom: point(lon) })).id;
const change = (id: number, body: object, token = edit) => token("PUT", `${L}/objects/${id}/`, body);

await edit("POST", "", { code: "m" });
const layer: number = (await edit("POST", "m/layers/", { code: "l" })).id;
await edit("POST", `${L}/structure/`, { code: "name", type: "string" });
await edit("POST", `${L}/structure/`, { code: "size", type: "number" });
await edit("POST", `${L}/structure/`, { code: "more", type: "json" });

t.test("it tells who changed what and when, and gives it back", async (t) => {
  const id = await add("one");
  const made = await object(id);
  await change(id, { fields: { name: "two", size: 5, more: { a: [1] } } });
  await change(id, { geom: point(20) }, other);
  await edit("PUT", `${L}/objects/${id}/geom/`, point(30));
  const last = await object(id);
  await edit("DELETE", `${L}/objects/${id}/`);
  const entries = await history(`${L}/objects/${id}`);
  t.match(entries, [
    {
      kind: "deleted",
      object: id,
      layer: "l",
      by: "editor",
      count: 1,
      before: { name: "two", geom: point(30) },
      after: null,
    },
    { kind: "changed", by: "editor", before: { geom: point(20) }, after: { geom: point(30) } },
    { kind: "changed", by: "admin", before: { geom: point(10) }, after: { geom: point(20) } },
    {
      kind: "changed",
      by: "editor",
      before: { name: "one", size: null, more: null },
      after: { name: "two", size: 5 },
    },
    { kind: "created", by: "editor", before: null, after: null },
  ]);
  t.same(Object.keys(entries[1].before), ["geom"], "only what differs");
  t.same(await undo(entries[0].id), { objects: 1 });
  t.same(await object(id), last, "as it was");
  t.equal(await status("POST", `${L}/history/${entries[0].id}/undo/`), 409, "it is there again");
  const [undone] = await history();
  t.match(undone, { kind: "created", object: id, by: "editor" });
  await undo(undone.id);
  t.same((await object(id)).fields, {}, "undoing is a change, which can be undone");
  await undo(entries[0].id);
  for (const entry of entries.slice(1, 4)) await undo(entry.id);
  t.same(await object(id), made);
  t.equal(await status("POST", `${L}/history/${entries[4].id}/undo/`), 409, "it has been changed since");
});

t.test("what others have changed since stays", async (t) => {
  const id = await add("mine");
  await change(id, { fields: { name: "yours", size: 1 } });
  const [entry] = await history();
  await change(id, { geom: point(40) }, other);
  await undo(entry.id);
  const again = await api("POST", `${L}/history/${entry.id}/undo/`, { token: editor });
  t.match(again, { status: 409, text: /It is undone already/ });
  t.match(await object(id), { fields: { name: "mine", size: null }, geom: point(40) }, "other values");
  await change(id, { fields: { name: "a", size: 2 } });
  const [both] = await history();
  await change(id, { fields: { size: 3 } }, other);
  const { status: answered, text } = await api("POST", `${L}/history/${both.id}/undo/`, { token: editor });
  t.equal(answered, 409);
  t.match(text, `size of object ${id} changed`);
  t.match(await object(id), { fields: { name: "a", size: 3 } }, "nothing of it is done");
});

t.test("an object that was made anew since is not deleted by undoing the one of before", async (t) => {
  const id = await add("first");
  const [made] = await history();
  await edit("DELETE", `${L}/objects/${id}/`);
  await sql.query(
    `insert into layers.l${layer} (svc_id, geom) values ($1, st_setsrid(st_point(1, 1), 4326))`,
    [id],
  );
  t.equal(await status("POST", `${L}/history/${made.id}/undo/`), 409, "created again");
  const [again] = await history();
  await sql.query(
    "insert into mapwright.object_history (layer_id, op, transaction_id) values ($1, 'R', '3')",
    [layer],
  );
  t.equal(await status("POST", `${L}/history/${again.id}/undo/`), 409, "all were replaced since");
  await sql.query(
    `begin; insert into layers.l${layer} (svc_id, geom) values (900000, st_setsrid(st_point(1, 1), 4326));
     update layers.l${layer} set geom = st_setsrid(st_point(2, 2), 4326) where svc_id = 900000; commit`,
  );
  const [moved] = await history();
  t.same(await undo(moved.id, 1), { objects: 1 }, "made and changed at once");
});

t.test("what one request did is undone as one", async (t) => {
  const [a, b] = [await add("a"), await add("b")];
  await edit("POST", `${L}/objects/bulk/`, [
    { op: "update", id: a, fields: { name: "A" } },
    { op: "delete", id: b },
    { op: "create", fields: { name: "c" } },
  ]);
  const entries = await history(L, "limit=3");
  t.equal(new Set(entries.map(({ group }: { group: string }) => group)).size, 1);
  t.match(
    entries.map(({ by }: { by: string }) => by),
    ["editor", "editor", "editor"],
  );
  t.same(await undo(entries[1].id, 1), { objects: 3 });
  t.match(await object(a), { fields: { name: "a" } });
  t.match(await object(b), { fields: { name: "b" } });
  t.same((await object(entries[0].object)).fields, {});
});

t.test("whoever it is, and by whatever way", async (t) => {
  const latest = async () => {
    const [{ kind, by }] = await history();
    return { kind, by };
  };
  const load = async (query: string, name: string) =>
    other("POST", `${L}/import/?${query}`, {
      type: "FeatureCollection",
      features: [{ type: "Feature", properties: { name }, geometry: point(5) }],
    });
  await load("action=2", "one");
  t.same(await latest(), { kind: "created", by: "admin" }, "an import that adds");
  await load("action=1", "two");
  t.same((await latest()).by, "admin", "one that replaces");
  const { id: job } = await api("POST", `${L}/import/?action=2&async=1`, {
    token: admin,
    body: { type: "FeatureCollection", features: [{ type: "Feature", properties: {}, geometry: point(6) }] },
  }).then(({ json }) => json);
  while ((await other("GET", `${L}/import/${job}/`)).state === "running") await sleep(20);
  t.same(await latest(), { kind: "created", by: "admin" }, "one that goes on");
  const id = await add("with a file");
  await edit("POST", `${L}/structure/`, { code: "papers", type: "file" });
  const attached = await send(server, `l/objects/${id}`, { bytes: "x", field: "papers", token: admin });
  t.equal(attached.status, 200, attached.text);
  t.same(await latest(), { kind: "changed", by: "admin" }, "a file that is attached");
  await other("DELETE", `${L}/objects/${id}/files/${attached.json.id}/?field=papers`);
  t.same(await latest(), { kind: "changed", by: "admin" }, "one that is removed");
  const [removed] = await history();
  await undo(removed.id);
  t.same(await latest(), { kind: "changed", by: "editor" }, "what is undone");
  await sql.query(`insert into layers.l${layer} (geom) values (st_setsrid(st_point(1, 1), 4326))`);
  t.same(await latest(), { kind: "created", by: null }, "by SQL nobody is known");
});

t.test("many objects at once are one entry, and imports that replace all are told", async (t) => {
  await sql.query(
    `insert into layers.l${layer} (geom) select st_setsrid(st_point(1, 1), 4326) from generate_series(1, 12000)`,
  );
  const [many] = await history();
  t.match(many, { kind: "added", count: 12_000, object: null, by: null });
  t.same(await undo(many.id), { objects: 12_000 });
  await sql.query(`update layers.l${layer} set geom = st_translate(geom, 1, 1)`);
  await sql.query(`truncate layers.l${layer}`);
  const [emptied] = await history();
  t.match(emptied, { kind: "emptied" });
  t.equal(await status("POST", `${L}/history/${emptied.id}/undo/`), 500);
});

t.test("a statement that changes many objects, and one after a new column, are kept as well", async (t) => {
  const id = await add("many");
  await sql.query(
    `insert into layers.l${layer} (geom) select st_setsrid(st_point(1, 1), 4326) from generate_series(1, 50)`,
  );
  await edit("POST", `${L}/structure/`, { code: "late", type: "string" });
  await change(id, { fields: { late: "x" } });
  t.match((await history())[0], { before: { late: null }, after: { late: "x" } });
  const before = await object(id);
  await sql.query(`update layers.l${layer} set geom = st_translate(geom, 1, 1)`);
  const [entry] = await history();
  t.same(Object.keys(entry.before), ["geom"]);
  t.same(await undo(entry.id, 1), { objects: 51 });
  t.same(await object(id), before);
  await sql.query(`delete from layers.l${layer}`);
  const [gone] = await history();
  await undo(gone.id, 1);
  t.same(await object(id), before);
});

t.test("it is for those who may edit the objects", async (t) => {
  const id = await add("x");
  const [entry] = await history();
  t.equal(entry.object, id);
  for (const path of [`${L}/history/`, `${L}/objects/${id}/history/`])
    t.equal(await status("GET", path, undefined, viewer), 403);
  t.same((await as(viewer)("GET", "m/history/")).entries, []);
  t.match((await edit("GET", "m/history/?limit=1")).entries, [{ id: entry.id }]);
  t.equal(await status("POST", `${L}/history/${entry.id}/undo/`, undefined, viewer), 403);
  t.equal(await status("POST", `${L}/history/999999999/undo/`), 404);
  const { bytes, entries } = await edit("GET", `${L}/history/?limit=2`);
  t.ok(bytes > 0);
  t.same((await edit("GET", `${L}/history/?limit=1&before=${entries[0].id}`)).entries, [entries[1]]);
});

t.test("what is old goes, and the oldest of what is too much", async (t) => {
  const days = (n: number) => new Date(Date.now() + n * 86_400_000);
  t.equal(await pruneHistory(db, { days: 30, now: days(29) }), 0, "it is not old");
  const { bytes } = await edit("GET", `${L}/history/`);
  t.ok((await boundHistory(db, Math.floor(bytes / 2))) > 0);
  const left = (await edit("GET", `${L}/history/`)).bytes;
  t.ok(left <= bytes / 2, `${left} of ${bytes} bytes`);
  t.ok((await pruneHistory(db, { days: 30, now: days(31) })) > 0);
  t.same(await history(), []);
  await sql.query(
    "insert into mapwright.object_history (layer_id, object_id, op) select $1, 1, 'u' from generate_series(1, 25000)",
    [layer],
  );
  const [last] = await history();
  t.equal(await boundHistory(db, 100_000), 24_000, "all of it at once");
  t.equal((await history())[0].id, last.id);
  await sql.query("begin");
  await sql.query("set local mapwright.history = 'off'");
  await sql.query(`truncate layers.l${layer}`);
  await sql.query("commit");
  t.equal((await history())[0].id, last.id, "nor is it written where it is off");
  await sql.query(
    "insert into mapwright.object_history (layer_id, op, ids) select $1, 'I', array(select generate_series(1, 200001))",
    [layer],
  );
  const [many] = await history(`${L}/objects/7`);
  t.match(many, { kind: "added", count: 200_001 });
  t.match(await api("POST", `${L}/history/${many.id}/undo/`, { token: editor }), { text: /At most 200000/ });
});

interface Plan {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

/** Most rows that one part of a plan looked at. */
const mostRead = (plan: Plan): number =>
  Math.max(
    (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)) * plan["Actual Loops"],
    ...(plan.Plans ?? []).map(mostRead),
  );

t.test("a shape does not come back into a layer that holds others by now", async (t) => {
  await edit("POST", "m/layers/", { code: "kinds" });
  const K = "m/layers/kinds";
  const { id } = await edit("POST", `${K}/objects/`, { fields: {}, geom: line(3, 0) });
  await edit("DELETE", `${K}/objects/${id}/`);
  const [deleted] = await history(K);
  await edit("POST", `${K}/import/`, {
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: {}, geometry: point(1) }],
  });
  const refused = await api("POST", `${K}/history/${deleted.id}/undo/`, { token: editor, body: {} });
  t.match(refused, { status: 409, text: /kind Point/ });
  t.equal(await edit("GET", `${K}/count/`), 1);
});

t.test("a page of large shapes ends early, and goes on with the next one", async (t) => {
  await edit("POST", "m/layers/", { code: "shapes" });
  const S = "m/layers/shapes";
  const { id } = await edit("POST", `${S}/objects/`, { fields: {}, geom: line(2, 0) });
  for (let lat = 1; lat <= 8; lat++) await edit("PUT", `${S}/objects/${id}/`, { geom: line(30_000, lat) });
  const whole: number[] = (await history(S, "")).map((entry: { id: number }) => entry.id);
  t.equal(whole.length, 9);
  const found: number[] = [];
  for (let pages = 1; found.length < whole.length; pages++) {
    const before = found.length > 0 ? `&before=${found.at(-1)}` : "";
    const page = await history(S, `values=1${before}`);
    if (pages === 1) t.ok(page.length > 1 && page.length < 9, `${page.length} of 9`);
    t.ok(page.length > 0);
    if (page.length === 0) break;
    found.push(...page.map((entry: { id: number }) => entry.id));
  }
  t.same(found, whole);
  await edit("DELETE", `${S}/`);
});

t.test("however long the histories of all layers are, little of them is read for a page", async (t) => {
  const map = `insert into object_history (layer_id, object_id, op, before, after)
    select 900001 + i % 2, i % 50, 'u', '{"c": 1}', '{"c": 2}' from generate_series(1, 20000) i`;
  const others = `insert into object_history (layer_id, object_id, op, before, after)
    select 900003, i % 50, 'u', '{"c": 1}', '{"c": 2}' from generate_series(1, 60000) i`;
  for (const text of [map, others, "analyze object_history"]) await sql.query(text);
  const layers = [900_001, 900_002].map((id) => ({ id, columns: [] })) as unknown as LayerNode[];
  const asked: { text: string; values: readonly unknown[] }[] = [];
  const recorded = {
    query: (text: string, values: readonly unknown[] = []) => {
      if (!text.startsWith("explain")) asked.push({ text, values });
      return db.query(text, values);
    },
  } as Queryable;
  const page = await listHistory(recorded, layers, { limit: 100, values: false });
  t.equal(page.length, 100);
  const next = { limit: 10, values: true, before: page.at(-1)!.id };
  t.ok((await listHistory(recorded, layers, next))[0]!.id < next.before);
  t.equal((await listHistory(recorded, layers.slice(0, 1), { ...next, object: 4 })).length, 10);
  const bytes = await historyBytes(recorded, layers);
  const [exact] = (
    await sql.query(`select sum(100 + pg_column_size(before) + pg_column_size(after))::int as n
      from object_history where layer_id in (900001, 900002)`)
  ).rows;
  t.ok(Math.abs(bytes / exact.n - 1) < 0.2, `${bytes} of ${exact.n}`);
  await sql.query("set plan_cache_mode = force_generic_plan");
  for (const { text, values } of asked) {
    const { rows } = await sql.query(`explain (analyze, format json) ${text}`, [...values]);
    const read = mostRead(rows[0]["QUERY PLAN"][0].Plan);
    t.ok(read <= 4_000, `${read} rows for: ${text}`);
  }
  await sql.query("reset plan_cache_mode");
  await sql.query("delete from object_history where layer_id between 900001 and 900003");
});
