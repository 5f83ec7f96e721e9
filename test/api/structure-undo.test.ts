import t from "tap";
import { startServer, waitFor } from "../support/server.js";

/** Undoing a change of maps, layers and columns leaves what others have done since as it is, and what can be drawn and saved. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const admin = await server.token("admin");
const administer = async (method: string, path: string, body?: unknown) => {
  const { status, text, json } = await api(method, path, { token: admin, body });
  if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json;
};
const list = async (query = "") => (await administer("GET", `history/?values=1&${query}`)).entries;
const undo = (id: number) => api("POST", `history/${id}/undo/`, { token: admin });
const L = "m/layers/l";

/** Begins what waits for something that is locked in the transaction of `meanwhile`, which ends when that waits. */
async function during<T>(
  locked: string,
  work: () => Promise<T>,
  meanwhile: readonly string[] = [],
): Promise<T> {
  await sql.query("begin");
  await sql.query(locked);
  const working = work();
  await waitFor(
    async () =>
      (await sql.query("select from pg_locks where not granted and pid <> pg_backend_pid()")).rowCount !== 0,
  );
  for (const statement of meanwhile) await sql.query(statement);
  await sql.query("commit");
  return working;
}

await administer("POST", "", { code: "m" });
await administer("POST", "m/layers/", { code: "l" });
const columnOf = async (item: number) =>
  (await administer("GET", `${L}/structure/`)).find(({ id }: { id: number }) => id === item);

t.test("of a column only what the change had set is set back", async (t) => {
  const one = await administer("POST", `${L}/structure/`, { code: "one", type: "string" });
  const two = await administer("POST", `${L}/structure/`, { code: "two", type: "string", name: "Second" });
  await administer("PATCH", `${L}/structure/one/`, { type: "string", name: "First" });
  const [named] = await list();
  const undone = await during(`select from map where code = 'm' for update`, () => undo(named.id), [
    `update layer_column set code = 'three' where id = ${one.id}`,
    `update layer_column set code = 'one' where id = ${two.id}`,
  ]);
  t.equal(undone.status, 200, undone.text);
  t.match(await columnOf(one.id), { code: "three", name: "" });
  t.match(await columnOf(two.id), { code: "one", name: "Second" }, "not of the one that has its code now");
  await administer("PATCH", `${L}/structure/three/`, { type: "string", name: "First" });
  const [again] = await list();
  const title = await during(`select from map where code = 'm' for update`, () => undo(again.id), [
    `update layer_column set type = 'number' where id = ${one.id}`,
    `alter table layers.l${(await administer("GET", `${L}/`)).id} alter c${one.id} type double precision using 0`,
  ]);
  t.equal(title.status, 200, title.text);
  t.match(await columnOf(one.id), { type: "number", name: "" }, "and not its type");
});

t.test("the code of a map that another one takes at that moment is taken", async (t) => {
  await administer("POST", "", { code: "old" });
  await administer("PATCH", "old/", { code: "new" });
  const [renamed] = await list();
  const [{ project_id: project }] = (await sql.query("select project_id from map where code = 'm'")).rows;
  const { status, json } = await during(`insert into map (project_id, code) values (${project}, 'old')`, () =>
    undo(renamed.id),
  );
  t.match([status, json], [500, { code: "code_exists" }]);
});

t.test("the style of a map stays that layers have come to need", async (t) => {
  await administer("PATCH", "m/", { css_style: "@ink: #ff0000;" });
  const [inked] = await list();
  await administer("PATCH", `${L}/`, { parent_id: 0, css_style: "#l { marker-fill: @ink; }" });
  t.match(await undo(inked.id), { status: 500, json: { code: "invalid_style", data: { layer: "l" } } });
  t.equal((await administer("GET", "m/")).css_style, "@ink: #ff0000;");
  await administer("PATCH", `${L}/`, { parent_id: 0, css_style: "#l { marker-fill: #00ff00; }" });
  t.equal((await undo(inked.id)).status, 200);
});

t.test("a constraint does not come back to a column of another type", async (t) => {
  await administer("POST", `${L}/structure/`, { code: "size", type: "string" });
  await administer("PUT", `${L}/constraints/`, [
    { type: "enum", name: "sizes", columns: ["size"], definition: ["s", "m"] },
  ]);
  await administer("PUT", `${L}/constraints/`, []);
  const [freed] = await list();
  await administer("PATCH", `${L}/structure/size/`, { type: "number" });
  t.match(await undo(freed.id), { status: 409, text: /sizes/ });
  await administer("POST", `${L}/objects/`, { fields: { size: 1 } });
  await administer("PATCH", `${L}/structure/size/`, { type: "string" });
  t.equal((await undo(freed.id)).status, 200);
});

t.test("a visualization comes back whole or not at all", async (t) => {
  for (const [code, type] of [
    ["n", "number"],
    ["label", "string"],
  ])
    await administer("POST", `${L}/structure/`, { code, type });
  await administer("PUT", `${L}/visualization/`, { type: 1, columnCode: "n" });
  await administer("DELETE", `${L}/visualization/`);
  t.equal((await undo((await list())[0].id)).status, 200);
  await administer("PUT", `${L}/visualization/`, {
    type: 1,
    columnCode: "n",
    showText: true,
    textSettings: { column: "label" },
  });
  await administer("DELETE", `${L}/visualization/`);
  const [dropped] = await list();
  await administer("DELETE", `${L}/structure/label/`);
  const [entry] = (await administer("GET", "bin/?limit=1")).entries;
  t.match(await undo(dropped.id), { status: 409, text: /columns that are deleted/ });
  t.notOk((await administer("GET", `${L}/`)).visualSettings);
  await administer("POST", `bin/${entry.id}/restore/`, {});
  t.equal((await undo(dropped.id)).status, 200);
  const { visualSettings } = await administer("GET", `${L}/`);
  t.match(visualSettings, { columnCode: "n", textSettings: { column: "label" } });
  await administer("DELETE", `${L}/structure/n/`);
  const [first] = (await administer("GET", "bin/?limit=1")).entries;
  await administer("DELETE", `${L}/structure/label/`);
  const { notes } = await administer("POST", `bin/${first.id}/restore/`, {});
  t.match(notes, [/another column that is deleted/]);
  t.match(
    (await administer("GET", `${L}/`)).visualSettings,
    { columnCode: "n", showText: false, textSettings: { column: null } },
    "nor does one that comes back with its column name others",
  );
});

t.test("the history tells of what was placed, and sets that back", async (t) => {
  await administer("POST", "", { code: "order" });
  for (const code of ["a", "b", "c"]) await administer("POST", "order/layers/", { code });
  await administer("PATCH", "order/layers/c/", { parent_id: 0, sort: 2 });
  const [placed] = await list();
  t.match(placed, { code: "c", before: { sort: 3 }, after: { sort: 2 } });
  await administer("POST", "order/layers/", { code: "first", sort: 1 });
  const undone = await undo(placed.id);
  t.equal(undone.status, 200, "others have moved it to that place, it was not placed there");
});

t.test("what leaves the publication tree and the search with a layer comes back with it", async (t) => {
  await administer("POST", "", { code: "shown" });
  const ids: Record<string, number> = {};
  for (const code of ["a", "b", "c"]) ids[code] = (await administer("POST", "shown/layers/", { code })).id;
  await administer("POST", "shown/layers/b/structure/", { code: "name", type: "string" });
  await administer("PUT", "shown/search/settings/", [{ layer: "b", search_column: "name" }]);
  await administer(
    "POST",
    "shown/publish/",
    Object.values(ids).map((id, place) => ({ id: place + 1, parent_id: 0, map_layer_id: id })),
  );
  const [published] = await list();
  const tree = await administer("GET", "shown/layers/");
  await administer("DELETE", "shown/layers/b/");
  t.match((await list("limit=2")).slice(0, 2), [{ code: "b", change: "deleted" }, { id: published.id }]);
  const { rows } = await sql.query("select kept->'publication' as kept from bin order by id desc limit 1");
  t.match(rows[0].kept, { before: [{ nodeId: ids.b }], after: [], places: [1] }, "not the whole tree");
  t.equal(rows[0].kept.before.length, 1);
  const [entry] = (await administer("GET", "bin/?limit=1")).entries;
  await administer("POST", `bin/${entry.id}/restore/`, {});
  t.match((await list("limit=2")).slice(0, 2), [
    { code: "b", change: "restored" },
    { code: "b", change: "deleted" },
  ]);
  t.same(await administer("GET", "shown/layers/"), tree);
  t.match(await administer("GET", "shown/search/settings/"), [{ layer: "b" }]);
  t.equal((await undo(published.id)).status, 200, "as if it had never been away");
});

t.test("a page of long changes ends before it is too long to be sent", async (t) => {
  for (let n = 0; n < 30; n++)
    await sql.query("update map set comment = repeat('x', 1000000) || $1 where code = 'shown'", [n]);
  const seen: number[] = [];
  for (let before = ""; ; ) {
    const { text, json } = await api("GET", `history/?values=1&limit=1000&map=shown&kind=map${before}`, {
      token: admin,
    });
    t.ok(text.length < 10_000_000, `${text.length} characters`);
    if (json.entries.length === 0) break;
    for (const { id, members } of json.entries) if (members.includes("comment")) seen.push(id);
    before = `&before=${json.entries.at(-1).id}`;
  }
  t.equal(new Set(seen).size, 30);
});
