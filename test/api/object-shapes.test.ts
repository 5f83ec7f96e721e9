import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { type ApiOptions, startServer } from "../support/server.js";
import { makeFileLayer, send } from "./files.support.js";

/** Objects that are split by a line, and merged into one. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "");
const L = "m/layers/l";
const ask = (method: string, path: string, options: ApiOptions = {}) =>
  api(method, path, { token: editor, ...options });
const done = async (method: string, path: string, body?: unknown) => {
  const answer = await ask(method, path, { body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};
const { id: columnId } = await done("POST", `${L}/structure/`, {
  code: "name",
  type: "string",
  required: true,
});

const add = async (name: string, geom: unknown): Promise<number> =>
  (await done("POST", `${L}/objects/`, { fields: { name }, geom })).id;
const line = (...coordinates: readonly (readonly number[])[]) => ({ type: "LineString", coordinates });
const across = (x: number) => line([x, -1], [x, 11]);
const split = (id: number, body: unknown = { line: across(3) }, { query = "", ...more }: any = {}) =>
  ask("POST", `${L}/objects/${id}/split/${query}`, { body, ...more });
const merge = (ids: unknown, more: ApiOptions = {}) =>
  ask("POST", `${L}/objects/merge/`, { body: { ids }, ...more });
const object = async (id: number, node = 1) =>
  (await ask("GET", `${L}/objects/${id}/?returnGeom=1`, { node })).json;
const tagOf = async (id: number) => (await ask("GET", `${L}/objects/${id}/`)).headers.get("etag") ?? "";
const box = async (id: number) =>
  (await ask("GET", `${L}/objects/${id}/?returnBbox=1`, { node: 1 })).json.bbox;
const lastEntries = async () => (await done("GET", `${L}/history/?values=1&limit=20`)).entries;

t.test("an object is split, every node knows of it, and the history gives it back", async (t) => {
  const id = await add("whole", square(0, 0, 10));
  const before = await object(id);
  const answer = await split(id);
  t.equal(answer.status, 200, answer.text);
  const [kept, made, ...others] = answer.json.ids;
  t.same([kept, others], [id, []]);
  t.same(await box(id), { sw: [0, 3], ne: [10, 10] });
  t.same(await box(made), { sw: [0, 0], ne: [10, 3] });
  t.match(await object(made), { fields: { name: "whole" } });
  const [one, other, earlier] = await lastEntries();
  t.same([one.kind, other.kind].sort(), ["changed", "created"]);
  t.same([one.by, other.by], ["editor", "editor"]);
  t.equal(one.group, other.group);
  t.not(earlier.group, one.group);
  await done("POST", `${L}/history/${one.id}/undo/`, { group: 1 });
  t.same(await object(id), before);
  t.same((await object(made)).fields, {});
});

t.test("objects are merged, and the history gives them back", async (t) => {
  const ids = [
    await add("a", square(0, 0, 10)),
    await add("b", square(10, 0, 10)),
    await add("c", square(50, 0, 1)),
  ];
  const before = await Promise.all(ids.map((id) => object(id)));
  const wanted = [ids[1], ids[2], ids[0]];
  const answer = await merge(wanted);
  t.equal(answer.status, 200, answer.text);
  t.same(answer.json, { id: ids[1], deleted: [ids[2], ids[0]] });
  t.match(await object(ids[1]!), { fields: { name: "b" }, geom: { type: "MultiPolygon" } });
  t.same(await box(ids[1]!), { sw: [0, 0], ne: [10, 51] });
  for (const id of [ids[0]!, ids[2]!]) t.same((await object(id)).fields, {});
  const entries = (await lastEntries()).slice(0, 3);
  t.same(entries.map(({ kind }: any) => kind).sort(), ["changed", "deleted", "deleted"]);
  t.ok(entries.every(({ by, group }: any) => by === "editor" && group === entries[0].group));
  t.same(await done("POST", `${L}/history/${entries[0].id}/undo/`, { group: 1 }), { objects: 3 });
  t.same(await Promise.all(ids.map((id) => object(id))), before);
});

t.test("lines are taken in web maps' metres, too", async (t) => {
  const id = await add("metres", square(0, 0, 10));
  const metres = line([556_597.453966, -100_000], [556_597.453966, 2_000_000]);
  const answer = await split(id, { line: metres }, { query: "?geomSR=3857" });
  t.equal(answer.status, 200, answer.text);
  const [, made] = answer.json.ids;
  const boxes = [await box(id), await box(made)].sort((one, other) => one.sw[1] - other.sw[1]);
  t.ok(Math.abs(boxes[0].ne[1] - 5) < 1e-6 && Math.abs(boxes[1].sw[1] - 5) < 1e-6);
});

t.test("what cannot be read is refused, and says why", async (t) => {
  const id = await add("refused", square(0, 0, 10));
  for (const [body, code, message] of [
    [{}, "required_parameters", /line/],
    [{ line: null }, "required_parameters", /line/],
    [{ line: square(0, 0, 1) }, "invalid_geometry", /LineString/],
    [{ line: line([0, 0]) }, "invalid_geometry", /two|2/],
    [{ line: line([0, 0], [0, 100]) }, "invalid_geometry", /latitude/],
    [
      { line: line(...Array.from({ length: 10_001 }, (_, n) => [n % 2, n % 3])) },
      "invalid_geometry",
      /at most 10000 positions/,
    ],
    [{ line: across(20) }, "invalid_value", /does not cut/],
  ] as const) {
    const answer = await split(id, body);
    t.equal(answer.status, 500, answer.text);
    t.equal(answer.json.code, code);
    t.match(answer.json.message, message);
  }
  t.equal((await split(id, [1])).status, 400);
  t.equal((await split(987_654)).status, 404);
  for (const ids of [
    undefined,
    [],
    [id],
    [id, id],
    [id, "x"],
    [id, 1.5],
    "1,2",
    Array.from({ length: 1_001 }, (_, n) => n),
  ]) {
    const answer = await merge(ids);
    t.equal(answer.status, 500, answer.text);
    t.equal(answer.json.code, ids === undefined ? "required_parameters" : "invalid_value");
  }
  t.match(await merge([id, 987_654]), { status: 404, text: /987654/ });
  t.same((await object(id)).geom, square(0, 0, 10));
});

t.test("they are for those who may edit objects, of layers that have their own", async (t) => {
  const id = await add("rights", square(0, 0, 10));
  for (const [token, status] of [
    [undefined, 401],
    [viewer, 403],
  ] as const) {
    t.equal((await split(id, undefined, { token })).status, status);
    t.equal((await merge([id, id + 1], { token })).status, status);
  }
  await done("POST", "m/layers/", { code: "copy", type: "virtual", source: { layer: "l" } });
  const virtual = await ask("POST", `m/layers/copy/objects/${id}/split/`, { body: { line: across(3) } });
  t.match(virtual, { status: 500, json: { code: "invalid_value" } });
});

t.test("with an Idempotency-Key each is done once", async (t) => {
  const id = await add("once", square(0, 0, 10));
  const headers = { "idempotency-key": "split-1" };
  const first = await split(id, undefined, { headers });
  t.equal(first.status, 200, first.text);
  t.same((await split(id, undefined, { headers, node: 1 })).json, first.json);
  const again = { "idempotency-key": "merge-1" };
  const merged = await merge(first.json.ids, { headers: again });
  t.equal(merged.status, 200, merged.text);
  t.same((await merge(first.json.ids, { headers: again, node: 1 })).json, merged.json);
  t.same(await box(id), { sw: [0, 0], ne: [10, 10] });
});

t.test("of two who split or merge what they saw, one is told that it has changed", async (t) => {
  const id = await add("raced", square(0, 0, 10));
  const other = await add("raced", square(10, 0, 10));
  const headers = { "if-match": await tagOf(id) };
  const answers = await Promise.all([
    split(id, { line: across(3) }, { headers }),
    split(id, { line: across(6) }, { headers, node: 1 }),
  ]);
  t.same(answers.map(({ status }) => status).sort(), [200, 412]);
  t.equal((await merge([id, other], { headers })).status, 412);
  t.equal((await split(id, { line: line([-1, 5], [11, 5]) }, { headers })).status, 412);
  const now = { "if-match": await tagOf(id) };
  t.equal((await merge([id, other], { headers: now })).status, 200);
});

t.test("who splits an object while others merge it with others does not wait for ever", async (t) => {
  for (let round = 0; round < 5; round++) {
    const ids: number[] = [];
    for (let n = 0; n < 6; n++) ids.push(await add("merged", square(n * 10, 0, 10)));
    // All wait for the same row, and go on in an order that nobody knows.
    await sql.query("begin");
    await sql.query(`select from layers.l${layer.id} where svc_id = $1 for update`, [ids[0]]);
    const asked = Promise.all([
      merge(ids),
      merge([...ids].reverse(), { node: 1 }),
      ...ids.map((id, n) => split(id, { line: across(10 * n + 3) }, { node: n % 2 })),
    ]);
    await lockWaiters(sql, 3);
    await sql.query("commit");
    const answers = await asked;
    for (const { status, text } of answers) t.ok([200, 404, 500].includes(status), text);
    t.notOk(
      answers.some(({ json }) => ["internal", "busy"].includes(json?.code)),
      answers.map(({ text }) => text).join("\n"),
    );
    t.equal(answers.slice(0, 2).filter(({ status }) => status === 200).length, 1, "one of them merges");
    const { rows } = await sql.query(
      `select sum(st_area(geom)) as area from layers.l${layer.id} where c${columnId} = 'merged'`,
    );
    t.ok(Math.abs(rows[0].area - 600 * (round + 1)) < 1e-6);
  }
});

t.test("files stay with the object, and the new ones have none", async (t) => {
  await makeFileLayer(server, "files");
  const at = "m/layers/files/objects/";
  const body = { fields: { name: "photographed" }, geom: square(0, 0, 10) };
  const { id } = await done("POST", at, body);
  t.equal((await send(server, `files/objects/${id}`, { bytes: "a", name: "a.txt" })).status, 200);
  t.equal(
    (await send(server, `files/objects/${id}`, { bytes: "b", name: "b.txt", field: "papers" })).status,
    200,
  );
  const { ids } = await done("POST", `${at}${id}/split/`, { line: across(3) });
  const files = async (of: number) => (await done("GET", `${at}${of}/`)).fields;
  t.match(await files(ids[0]), { name: "photographed", files: /./, papers: /./ });
  t.match(await files(ids[1]), { name: "photographed", files: null, papers: null });
});
