import t from "tap";
import { boundHistory, pruneHistory } from "../../src/features/history.js";
import { startServer } from "../support/server.js";

/** What happens to maps, folders, layers and columns is told, and can be undone. */

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
const administer = as(admin);
const L = "m/layers/l";
const list = async (query = "") => (await administer("GET", `history/?values=1&${query}`)).entries;
const undo = (id: number, token = admin) => api("POST", `history/${id}/undo/`, { token });
const layerNow = (code = "l") => administer("GET", `m/layers/${code}/`);

await administer("POST", "", { code: "m" });
await edit("POST", "m/layers/", { code: "l" });

t.test("what is made is told, with who has made it", async (t) => {
  t.match(await list(), [
    { kind: "layer", change: "created", code: "l", map: "m", layer: "l", by: "editor", members: [] },
    { kind: "map", change: "created", code: "m", map: "m", layer: null, by: "admin" },
  ]);
});

t.test("a style is put back, unless it was changed since", async (t) => {
  const { css_style: before } = await layerNow();
  await edit("PATCH", `${L}/`, { parent_id: 0, css_style: "#l { marker-width: 3 }" });
  const [entry] = await list();
  t.match(entry, {
    kind: "layer",
    change: "changed",
    by: "editor",
    members: ["css_style"],
    before: { css_style: before },
    after: { css_style: "#l { marker-width: 3 }" },
  });
  const done = await undo(entry.id, editor);
  t.same(done.json, { members: ["css_style"] }, "by who may change it");
  t.equal((await layerNow()).css_style, before);
  t.match(await undo(entry.id), { status: 409, text: /undone already/ });
  const [undone] = await list();
  t.match(undone, { by: "editor", after: { css_style: before } }, "undoing is a change");
  await edit("PATCH", `${L}/`, { parent_id: 0, css_style: "#l { marker-width: 4 }" });
  t.match(await undo(undone.id), { status: 409, text: /css_style/ });
  t.equal((await undo(entry.id, viewer)).status, 403);
});

t.test("one request is one entry of each, whatever it does to it", async (t) => {
  await edit("POST", "m/folders/", { code: "f" });
  await edit("POST", "m/layers/", { code: "second" });
  await edit("POST", "m/layers/", { code: "third" });
  const { id: folder } = await administer("GET", "m/folders/f/");
  await edit("PATCH", "m/layers/third/", { parent_id: 0, sort: 1, name: "Third" });
  const [moved, made] = await list();
  t.match(moved, { code: "third", members: ["name", "sort"], before: { name: "" } });
  t.match(made, { change: "created", code: "third" }, "those beside it are not told of");
  await edit("PATCH", "m/layers/third/", { parent_id: folder });
  const [inFolder] = await list();
  t.match(inFolder, { code: "third", before: { parent_id: null }, after: { parent_id: folder } });
  t.match(await undo(moved.id), { status: 409 }, "it was placed again since");
  t.equal((await undo(inFolder.id)).status, 200);
  t.equal((await undo(moved.id)).status, 409, "that was a change, too");
  const [back] = await list();
  t.equal((await undo(back.id)).status, 200);
  await administer("DELETE", "m/folders/f/");
  const [gone] = await list();
  t.match(gone, { kind: "folder", change: "deleted", code: "f" }, "not what it held");
  t.match((await undo(gone.id)).text, /Restore it from the bin/);
  const [entry] = (await administer("GET", "bin/")).entries;
  await administer("POST", `bin/${entry.id}/restore/`, {});
  t.match((await list())[0], { kind: "folder", change: "restored", code: "f" });
});

t.test("columns, constraints, maps and search settings", async (t) => {
  const { id: column } = await edit("POST", `${L}/structure/`, { code: "size", type: "string" });
  await edit("PATCH", `${L}/structure/size/`, { type: "string", code: "height", name: "Height" });
  const [renamed, added] = await list();
  t.match(renamed, { kind: "column", layer: "l", before: { code: "size" }, after: { code: "height" } });
  t.match(added, { kind: "column", change: "created", item: column });
  await edit("PATCH", `${L}/structure/height/`, { type: "number" });
  const [retyped] = await list();
  t.equal((await undo(retyped.id, editor)).status, 200);
  t.equal((await undo(renamed.id, editor)).status, 200);
  t.match(
    (await administer("GET", `${L}/structure/`)).find(({ id }: { id: number }) => id === column),
    { code: "size", type: "string", name: "" },
  );
  await administer("PUT", `${L}/constraints/`, [
    { type: "enum", name: "sizes", columns: ["size"], definition: ["s", "m"] },
  ]);
  const [constrained] = await list();
  t.match(constrained, { kind: "layer", members: ["constraints"], before: { constraints: [] } });
  await administer("PUT", `${L}/constraints/`, []);
  const [freed] = await list();
  t.equal((await undo(freed.id, editor)).status, 403, "as for the change itself");
  t.equal((await undo(freed.id)).status, 200);
  t.match(await administer("GET", `${L}/constraints/`), [{ name: "sizes", definition: ["s", "m"] }]);
  await administer("PATCH", "m/", { name: "The map", code: "renamed" });
  const [named] = await list("map=renamed&kind=map");
  t.match(named, { map: "m", before: { name: "", code: "m" }, after: { name: "The map" } });
  t.equal((await undo(named.id)).status, 200);
  t.match(await administer("GET", "m/"), { code: "m" });
});

t.test("it is for administrators, by map, layer, kind and login", async (t) => {
  t.equal((await api("GET", "history/", { token: editor })).status, 403);
  t.equal((await api("GET", "history/")).status, 401);
  t.equal((await undo(999_999)).status, 404);
  t.equal((await undo(999_999, viewer)).status, 403);
  const all = await list("limit=1000");
  for (const [query, fits] of [
    ["kind=column", ({ kind }: { kind: string }) => kind === "column"],
    ["by=editor", ({ by }: { by: string }) => by === "editor"],
    ["map=m&layer=third", ({ layer }: { layer: string }) => layer === "third"],
    [`before=${all[2].id}`, ({ id }: { id: number }) => id < all[2].id],
  ] as const) {
    const some = await list(`limit=1000&${query}`);
    t.ok(some.length > 0, query);
    t.same(some, all.filter(fits), query);
  }
  t.same(await list("map=none"), []);
  const [short] = (await administer("GET", "history/?limit=1")).entries;
  t.match(short, { before: null, after: null });
});

t.test("it is written with the change or not at all, and goes when it is old or too much", async (t) => {
  const [last] = await list();
  await sql.query("begin");
  await sql.query("update mapwright.map set name = 'x' where code = 'm'");
  await sql.query("rollback");
  t.same((await list())[0], last);
  await sql.query("update mapwright.map set name = 'x' where code = 'm'");
  t.match((await list())[0], { by: null, after: { name: "x" } });
  const count = (await list("limit=1000")).length;
  await boundHistory(db, 1_000);
  const left = (await list("limit=1000")).length;
  t.ok(left > 0 && left < count, `${left} of ${count}`);
  await pruneHistory(db, { days: 30, now: new Date(Date.now() + 31 * 86_400_000) });
  t.same(await list(), []);
});

t.test("where nothing is kept nothing is written", async (t) => {
  const other = await startServer({ config: { "history.days": 0 } });
  t.teardown(() => other.stop());
  const token = await other.token("editor");
  await other.api("POST", "", { token, body: { code: "m" } });
  await other.api("POST", "m/layers/", { token, body: { code: "l" } });
  const made = await other.api("POST", "m/layers/l/objects/", { token, body: { fields: {} } });
  await other.api("DELETE", `m/layers/l/objects/${made.json.id}/`, { token });
  const body = {
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [1, 2] } }],
  };
  t.equal((await other.api("POST", "m/layers/l/import/?action=1", { token, body })).status, 200);
  const { rows } = await other.sql.query(
    `select (select count(*) from mapwright.object_history)::int as objects,
       (select count(*) from mapwright.structure_history)::int as structure`,
  );
  t.same(rows, [{ objects: 0, structure: 0 }]);
});
