import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Making, changing and deleting columns over HTTP. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const token = await server.token("editor");

let made = 0;
/** A new layer; its code. */
async function layer(): Promise<string> {
  return (await makeStyledLayer(server, "m", `l${++made}`, "#a { marker-width: 4; }")).code;
}
const structure = (code: string) => `m/layers/${code}/structure/`;
const create = (code: string, body: object, lng = "") =>
  server.api("POST", `${structure(code)}${lng}`, { token, body });
const change = (code: string, column: string, body: object, method = "PATCH") =>
  server.api(method, `${structure(code)}${column}/`, { token, body });
const list = async (code: string, lng = "") => (await server.api("GET", `${structure(code)}${lng}`)).json;
/** The layer's columns as `code sort parent`, the parent by its code. */
async function order(code: string): Promise<string[]> {
  const columns: { id: number; code: string; sort: number; parent_id: number }[] = await list(code);
  const codes = new Map(columns.map((column) => [column.id, column.code]));
  return columns.map(({ code, sort, parent_id }) => `${code} ${sort} ${codes.get(parent_id) ?? "-"}`);
}
const addObject = async (code: string, fields: object, lng = "") =>
  (await server.api("POST", `m/layers/${code}/objects/${lng}`, { token, body: { fields } })).json;
const getObject = async (code: string, id: number, query = "") =>
  (await server.api("GET", `m/layers/${code}/objects/${id}/${query}`)).json.fields;

t.test("a column is made with the defaults of the contract", async (t) => {
  const l = await layer();
  const answer = await create(l, { code: "kind", type: "string" });
  t.equal(answer.status, 200);
  const { id, ...rest } = answer.json;
  t.type(id, "number");
  t.strictSame(rest, {
    sort: 3,
    parent_id: 0,
    code: "kind",
    name: "",
    required: false,
    type: "string",
    localized_name: false,
    localized_value: false,
  });
  t.strictSame((await list(l)).at(-1), answer.json);
  t.match(await addObject(l, { kind: "x" }), { fields: { kind: "x" } });
});

t.test("columns of every type can be made, and timestamp is datetime", async (t) => {
  const l = await layer();
  for (const type of ["number", "string", "text", "datetime", "bool", "file", "title", "json"]) {
    t.equal((await create(l, { code: type, type })).json.type, type);
  }
  t.equal((await create(l, { code: "stamp", type: "timestamp" })).json.type, "datetime");
  t.match((await create(l, { code: "geom2", type: "geom" })).json, { code: "invalid_value" });
});

t.test("a column needs a type that there is, and a code", async (t) => {
  const l = await layer();
  for (const type of [undefined, null, ""])
    t.match(await create(l, { code: "a", type }), { status: 500, json: { code: "type_required" } });
  for (const type of ["integer", "Number", "__proto__", "constructor", 5, {}, ["string"]])
    t.match(await create(l, { code: "a", type }), { status: 500, json: { code: "unknown_type" } });
  t.match(await create(l, { type: "string" }), {
    status: 500,
    json: { code: "required_parameters", data: { required: ["code"] } },
  });
  await create(l, { code: "a", type: "string" });
  t.match(await change(l, "a", { code: "b" }), { status: 500, json: { code: "type_required" } });
  t.match(await change(l, "a", { type: "integer" }), { status: 500, json: { code: "unknown_type" } });
  t.equal((await change(l, "none", { type: "string" })).status, 404);
});

t.test("codes follow the rules and are unique in the layer", async (t) => {
  const l = await layer();
  for (const code of ['a"b', "a".repeat(45), "1a", "__proto__", "код", "a-b", "a b", "a\u0000b", 5, {}]) {
    const answer = await create(l, { code, type: "string" });
    t.ok(
      answer.status === 400 || answer.json.code === "invalid_code",
      `${JSON.stringify(code)}: ${answer.status}`,
    );
  }
  for (const code of ["a".repeat(44), "constructor", "ctid", "_1", "toString", "select", "xmin"]) {
    t.equal((await create(l, { code, type: "string" })).status, 200, code);
  }
  for (const code of ["svc_id", "geom", "ctid"])
    t.match((await create(l, { code, type: "string" })).json, { code: "code_exists" });
  t.match((await change(l, "ctid", { type: "string", code: "xmin" })).json, { code: "code_exists" });
  t.match((await change(l, "ctid", { type: "string", code: "__proto__" })).json, { code: "invalid_code" });
  const fields = { constructor: "1", ctid: "2", toString: "3", xmin: "4" };
  const object = await addObject(l, fields);
  t.match(object.fields, fields);
  t.match(await getObject(l, object.id, "?f=fjson"), fields);
});

t.test("a code can change, and the values stay", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const object = await addObject(l, { a: "kept" });
  t.match((await change(l, "a", { type: "string", code: "b" }, "PUT")).json, { code: "b" });
  t.match(await getObject(l, object.id), { b: "kept" });
  t.equal((await change(l, "a", { type: "string" })).status, 404);
});

t.test("names are strings or objects of languages", async (t) => {
  const l = await layer();
  t.match((await create(l, { code: "a", type: "string", name: "Kind" })).json, {
    name: "Kind",
    localized_name: false,
  });
  t.match(
    (await create(l, { code: "b", type: "string", name: { en: "Size", ru: "Размер" } }, "?lng=ru")).json,
    {
      name: "Размер",
      localized_name: true,
    },
  );
  t.match((await change(l, "a", { type: "string", localized_name: true })).json, { name: "Kind" });
  await server.api("PUT", `${structure(l)}a/?lng=ru`, { token, body: { type: "string", name: "Вид" } });
  t.equal((await list(l))[2].name, "Kind");
  t.equal((await list(l, "?lng=ru"))[2].name, "Вид");
  t.match((await change(l, "a", { type: "string", localized_name: false })).json, {
    name: "Kind",
    localized_name: false,
  });
});

t.test("sort puts a column at its place among its parent's", async (t) => {
  const l = await layer();
  for (const code of ["a", "b", "c"]) await create(l, { code, type: "number" });
  await create(l, { code: "first", type: "number", sort: 1 });
  t.strictSame(await order(l), ["first 1 -", "svc_id 2 -", "geom 3 -", "a 4 -", "b 5 -", "c 6 -"]);
  await change(l, "c", { type: "number", sort: 4 });
  t.strictSame((await order(l)).slice(3), ["c 4 -", "a 5 -", "b 6 -"]);
  await change(l, "svc_id", { type: "number", sort: 1, name: "Number" });
  t.equal((await order(l))[0], "svc_id 1 -");
});

t.test("titles hold columns and titles, and nothing holds itself", async (t) => {
  const l = await layer();
  const outer = (await create(l, { code: "outer", type: "title" })).json.id;
  const inner = (await create(l, { code: "inner", type: "title", parent_id: outer })).json.id;
  const leaf = (await create(l, { code: "leaf", type: "string", parent_id: inner })).json.id;
  await create(l, { code: "last", type: "string" });
  t.strictSame((await order(l)).slice(2), ["outer 3 -", "inner 1 outer", "leaf 1 inner", "last 4 -"]);
  const other = await layer();
  const foreign = (await create(other, { code: "title", type: "title" })).json.id;
  for (const parent_id of [leaf, foreign, 2 ** 31 - 1, -1])
    t.match((await create(l, { code: "x", type: "string", parent_id })).json, { code: "invalid_value" });
  for (const parent_id of ["x", 1.5, 1e300, {}])
    t.equal((await create(l, { code: "x", type: "string", parent_id })).status, 400);
  for (const parent_id of [outer, inner])
    t.match((await change(l, "outer", { type: "title", parent_id })).json, { code: "invalid_value" });
  t.match((await change(l, "leaf", { type: "string", parent_id: outer, sort: 1 })).json, {
    parent_id: outer,
  });
  t.strictSame((await order(l)).slice(2), ["outer 3 -", "leaf 1 outer", "inner 2 outer", "last 4 -"]);
  t.match((await change(l, "leaf", { type: "string", parent_id: 0 })).json, { parent_id: 0, sort: 5 });
});

t.test("what a deleted title held moves to the top level", async (t) => {
  const l = await layer();
  const outer = (await create(l, { code: "outer", type: "title" })).json.id;
  await create(l, { code: "a", type: "string", parent_id: outer });
  await create(l, { code: "b", type: "string", parent_id: outer });
  await create(l, { code: "c", type: "string" });
  const object = await addObject(l, { a: "1", b: "2" });
  const answer = await server.api("DELETE", `${structure(l)}outer/`, { token });
  t.match(answer, { status: 200, text: "null" });
  t.strictSame(await order(l), ["svc_id 1 -", "geom 2 -", "c 3 -", "a 4 -", "b 5 -"]);
  t.match(await getObject(l, object.id), { a: "1", b: "2" });
});

t.test("a column is deleted with its values", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  await create(l, { code: "b", type: "string" });
  const object = await addObject(l, { a: "1", b: "2" });
  t.match(await server.api("DELETE", `${structure(l)}a/`, { token }), { status: 200, text: "null" });
  t.strictSame(await getObject(l, object.id), { svc_id: object.id, b: "2" });
  t.equal((await server.api("DELETE", `${structure(l)}a/`, { token })).status, 404);
  await create(l, { code: "a", type: "number" });
  t.match(await getObject(l, object.id), { a: null }, "a new column of that code is empty");
});

t.test("the object id and the geometry stay what they are", async (t) => {
  const l = await layer();
  for (const [code, type] of [
    ["svc_id", "number"],
    ["geom", "geom"],
  ] as const) {
    t.match(await server.api("DELETE", `${structure(l)}${code}/`, { token }), {
      status: 500,
      json: { code: "invalid_value" },
    });
    t.match((await change(l, code, { type: "string" })).json, { code: "invalid_value" });
    t.match((await change(l, code, { type, code: "other" })).json, { code: "invalid_value" });
    t.match((await change(l, code, { type, localized_value: true })).json, { code: "invalid_value" });
    t.match((await change(l, code, { type, name: "Mine" })).json, { code, type, name: "Mine" });
  }
});

t.test("a type change converts the values and answers the column", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const number = await addObject(l, { a: " 12.5 " });
  const word = await addObject(l, { a: "twelve" });
  t.match((await change(l, "a", { type: "number" })).json, { code: "a", type: "number" });
  t.match(await getObject(l, number.id), { a: 12.5 });
  t.match(await getObject(l, word.id), { a: null });
  t.equal((await addObject(l, { a: 3 })).fields.a, 3, "values of the new type can be saved at once");
});

t.test("values become localised in the main language, and the main language's stay", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const object = await addObject(l, { a: "red" });
  t.match((await change(l, "a", { type: "string", localized_value: true })).json, { localized_value: true });
  await server.api("PUT", `m/layers/${l}/objects/${object.id}/?lng=ru`, {
    token,
    body: { fields: { a: "красный" } },
  });
  const other = await addObject(l, { a: "синий" }, "?lng=ru");
  t.match(await getObject(l, object.id), { a: "red" });
  t.match(await getObject(l, object.id, "?lng=ru"), { a: "красный" });
  await change(l, "a", { type: "string", localized_value: false });
  t.match(await getObject(l, object.id, "?lng=ru"), { a: "red" });
  t.match(await getObject(l, other.id), { a: "синий" }, "another language's stands in");
});

t.test("a failed change leaves everything as it was", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  await create(l, { code: "b", type: "string" });
  const object = await addObject(l, { a: "12", b: "x" });
  const before = await list(l);
  t.match((await change(l, "a", { type: "number", code: "b" })).json, { code: "code_exists" });
  t.match((await change(l, "a", { type: "number", parent_id: 5 })).json, { code: "invalid_value" });
  t.strictSame(await list(l), before);
  t.match(await getObject(l, object.id), { a: "12", b: "x" });
});

t.test("formats are checked and kept", async (t) => {
  const l = await layer();
  const format = { kind: "number", decimals: 2, grouping: true, prefix: "", suffix: " м²" };
  t.strictSame((await create(l, { code: "a", type: "number", format })).json.format, format);
  t.strictSame((await change(l, "a", { type: "number", name: "A" })).json.format, format);
  for (const bad of [
    "x",
    [],
    {},
    { kind: "bool" },
    { kind: "number", decimals: -1 },
    { kind: "number", decimals: 1.5 },
    { kind: "number", decimals: 21 },
    { kind: "number", grouping: "yes" },
    { kind: "number", suffix: 5 },
    { kind: "number", prefix: "x".repeat(1000) },
  ]) {
    t.match(await change(l, "a", { type: "number", format: bad }), {
      status: 500,
      json: { code: "invalid_value", data: { parameter: "format" } },
    });
  }
  for (const pattern of ["qq", "yyyyy", "dd.MM.yyyy x", 5, undefined])
    t.match((await create(l, { code: "b", type: "datetime", format: { kind: "datetime", pattern } })).json, {
      code: "invalid_value",
    });
  t.equal((await change(l, "a", { type: "number", format: null })).json.format, undefined);
});

t.test("structure is for those who may edit it", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const viewer = await server.token("viewer");
  const body = { code: "b", type: "string" };
  t.equal((await server.api("POST", structure(l), { body })).status, 401);
  t.equal((await server.api("POST", structure(l), { token: viewer, body })).status, 403);
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    t.equal((await server.api(method, `${structure(l)}a/`, { body })).status, 401);
    t.equal((await server.api(method, `${structure(l)}a/`, { token: viewer, body })).status, 403);
  }
  t.equal((await server.api("POST", structure("none"), { token, body })).status, 404);
  t.equal((await list(l)).length, 3);
});

t.test("hostile bodies are refused", async (t) => {
  const l = await layer();
  const send = async (text: string) =>
    fetch(`${server.url}/api/2.8/p/${structure(l)}`, {
      method: "POST",
      headers: { "x-token": token, "content-type": "application/json" },
      body: text,
    });
  const deep = "[".repeat(100_000);
  for (const text of ["[]", "5", "null", "{", `{"code":"a","type":"string","format":${deep}`])
    t.equal((await send(text)).status, 400, text.slice(0, 20));
  t.equal((await send('{"code":"a","type":"string","sort":1e999}')).status, 400);
  t.equal((await send('{"code":"a","type":"string","name":"\\ud800"}')).status, 400);
  const answer = await send('{"__proto__":{"type":"string"},"code":"a"}');
  t.match(await answer.json(), { code: "type_required" });
  t.equal((await send('{"code":"x","code":"a","type":"string"}')).status, 200);
  t.equal((await list(l)).at(-1).code, "a");
});

t.test("columns made at the same time all exist, with places of their own", async (t) => {
  const l = await layer();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => create(l, { code: `c${i}`, type: "number" })),
  );
  t.ok(answers.every((answer) => answer.status === 200));
  t.strictSame(
    (await list(l)).map((column: { sort: number }) => column.sort),
    Array.from({ length: 10 }, (_, i) => i + 1),
  );
});

t.test("a change of values redraws the layer", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const version = async () =>
    (
      await server.sql.query(
        "select version >> 20 as version from layer l join node n using (id) where n.code = $1",
        [l],
      )
    ).rows[0].version;
  let before = await version();
  await change(l, "a", { type: "number" });
  t.equal(await version(), before + 1);
  const { rows } = await server.sql.query(
    "select area from layer_change c join node n on n.id = c.layer_id where n.code = $1 order by version desc limit 1",
    [l],
  );
  t.equal(rows[0].area, null, "all of it");
  before = await version();
  await change(l, "a", { type: "number", name: "A", sort: 1 });
  t.equal(await version(), before, "a name is drawn nowhere");
});

t.test("objects can be written and read while a column changes its type again and again", async (t) => {
  const l = await layer();
  await create(l, { code: "a", type: "string" });
  const path = `m/layers/${l}/objects/`;
  let changing = true;
  const acknowledged: number[] = [];
  const refusals = new Set<string>();
  const note = (answer: { status: number; json: { code?: string } }) => {
    if (answer.status !== 200) refusals.add(answer.json?.code ?? String(answer.status));
  };
  const write = async () => {
    while (changing) {
      const answer = await server.api("POST", path, { token, body: { fields: { a: "5" } } });
      note(answer);
      if (answer.status === 200) acknowledged.push(answer.json.id);
    }
  };
  const read = async () => {
    while (changing) {
      note(await server.api("GET", `${path}?fields=*`));
      note(await server.api("GET", `${path}1/`));
    }
  };
  const work = [write(), write(), read()];
  for (const type of ["number", "string", "json", "bool", "title", "text", "number", "string"]) {
    const answer = await change(l, "a", { type });
    t.equal(answer.status, 200, `${type}: ${answer.text}`);
  }
  changing = false;
  await Promise.all(work);
  for (const code of refusals) t.ok(["busy", "invalid_value"].includes(code), code);
  const ids: { id: number }[] = (await server.api("GET", path)).json;
  t.strictSame(
    ids.map(({ id }) => id),
    acknowledged.sort((a, b) => a - b),
    "what was acknowledged is there, and nothing else",
  );
});
