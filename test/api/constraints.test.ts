import t from "tap";
import { parseFilter } from "../../src/features/filter-parser.js";
import { lockWaiters } from "../support/locks.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Constraints of columns over HTTP, and what they refuse. */

const server = await startServer({ config: { statementTimeoutMs: 10_000 } });
t.teardown(() => server.stop());
await makeMap(server, "m");
const admin = await server.token("admin");
const token = await server.token("editor");

let made = 0;
/** A new layer with columns of these types, codes = types; its code. */
async function layer(...types: string[]): Promise<string> {
  const { code } = await makeStyledLayer(server, "m", `l${++made}`, "#a { marker-width: 4; }");
  for (const type of types)
    await server.api("POST", `m/layers/${code}/structure/`, { token, body: { code: type, type } });
  return code;
}
const put = (code: string, body: unknown) =>
  server.api("PUT", `m/layers/${code}/constraints/`, { token: admin, body });
const get = async (code: string) =>
  (await server.api("GET", `m/layers/${code}/constraints/`, { token: admin })).json;
const create = (code: string, fields: object, query = "") =>
  server.api("POST", `m/layers/${code}/objects/${query}`, { token, body: { fields } });
const update = (code: string, id: number, fields: object) =>
  server.api("PUT", `m/layers/${code}/objects/${id}/`, { token, body: { fields } });
const structure = (code: string, column: string, body: object) =>
  server.api("PATCH", `m/layers/${code}/structure/${column}/`, { token, body });
const objects = async (code: string) =>
  (await server.api("GET", `m/layers/${code}/count/?precise=true`)).json;

const violated = (column: string) => ({
  status: 500,
  json: { error: "error", code: "constraint_violated", data: { columns: { [column]: String } } },
});

t.test("a layer has no constraints at first; they are for administrators", async (t) => {
  const l = await layer("string");
  t.strictSame(await get(l), []);
  const path = `m/layers/${l}/constraints/`;
  for (const method of ["GET", "PUT"]) {
    const body = method === "PUT" ? { body: [] } : {};
    t.equal((await server.api(method, path, body)).status, 401);
    t.equal((await server.api(method, path, { ...body, token })).status, 403);
  }
  t.equal((await server.api("GET", "m/layers/none/constraints/", { token: admin })).status, 404);
});

t.test("an enum allows its values alone, and no value", async (t) => {
  const l = await layer("string", "number", "bool", "datetime");
  const answer = await put(l, [
    { type: "enum", name: "Kinds", columns: ["string"], definition: ["town", "it's"] },
    { type: "enum", name: "", columns: ["number"], definition: [1, 2.5] },
    { type: "enum", name: "", columns: ["bool"], definition: [true] },
    { type: "enum", name: "", columns: ["datetime"], definition: ["2024-05-01T14:00:00+02:00"] },
  ]);
  t.equal(answer.status, 200);
  t.strictSame(answer.json[0], {
    type: "enum",
    name: "Kinds",
    columns: ["string"],
    definition: ["town", "it's"],
    raw_definition: "string <> '' and string not in ('town', 'it''s')",
    validated: true,
  });
  t.strictSame(answer.json[3].definition, ["2024-05-01T12:00:00Z"]);
  t.strictSame(await get(l), answer.json);
  for (const { raw_definition } of answer.json) parseFilter(raw_definition);
  const good = await create(l, { string: "it's", number: 2.5, bool: true, datetime: "2024-05-01T12:00Z" });
  t.equal(good.status, 200);
  t.equal((await create(l, { string: "", number: null })).status, 200);
  t.match(await create(l, { string: "Town" }), violated("string"));
  t.match(await create(l, { number: 2 }), violated("number"));
  t.match(await create(l, { bool: false }), violated("bool"));
  t.match(await create(l, { datetime: "2024-05-01" }), violated("datetime"));
  t.match(await update(l, good.json.id, { string: "x", number: 3 }), {
    json: { data: { columns: { string: /Kinds/, number: String } } },
  });
  t.match(await update(l, good.json.id, { string: "town" }), {
    status: 200,
    json: { fields: { number: 2.5 } },
  });
  t.equal(await objects(l), 2, "nothing of what was refused is there");
});

t.test("a range has two ends, or one", async (t) => {
  const l = await layer("number", "datetime");
  const answer = await put(l, [
    { type: "range", name: "", columns: ["number"], definition: [0, 100] },
    { type: "range", name: "", columns: ["datetime"], definition: ["2000-01-01", null] },
  ]);
  t.strictSame(
    answer.json.map((constraint: { raw_definition: string }) => constraint.raw_definition),
    ["number < 0 or number > 100", "datetime < '2000-01-01T00:00:00Z'"],
  );
  for (const number of [0, 100, null]) t.equal((await create(l, { number })).status, 200);
  for (const number of [-0.001, 101, 1e10]) t.match(await create(l, { number }), violated("number"));
  t.equal((await create(l, { datetime: "3000-01-01" })).status, 200);
  t.match(await create(l, { datetime: "1999-12-31T23:59:59.999999Z" }), violated("datetime"));
});

t.test("a pattern is for the whole value", async (t) => {
  const l = await layer("string", "text");
  const answer = await put(l, [
    { type: "pattern", name: "code", columns: ["string", "text"], definition: "[0-9]{3}|x" },
  ]);
  t.match(answer.json, [{ columns: ["string", "text"], definition: ["[0-9]{3}|x"], validated: true }]);
  for (const string of ["123", "x", "", null]) t.equal((await create(l, { string })).status, 200);
  for (const string of ["1234", "12", "xx", "123\n"])
    t.match(await create(l, { string }), violated("string"));
  t.match(await create(l, { text: "y" }), violated("text"));
});

t.test("constraints hold in every language", async (t) => {
  const l = await layer("string");
  await structure(l, "string", { type: "string", localized_value: true });
  await put(l, [{ type: "enum", name: "", columns: ["string"], definition: ["red", "красный"] }]);
  const object = await create(l, { string: "красный" }, "?lng=ru");
  t.equal(object.status, 200);
  t.match(await update(l, object.json.id, { string: "blue" }), violated("string"));
  t.match(await create(l, { string: { en: "red", ru: "синий" } }), violated("string"));
  t.equal((await create(l, { string: { en: "red" } })).status, 200);
});

t.test("objects from before may offend, which validated tells", async (t) => {
  const l = await layer("string", "number");
  await create(l, { string: "old", number: 5 });
  const body = [
    { type: "enum", name: "a", columns: ["string"], definition: ["new"] },
    { type: "pattern", name: "b", columns: ["string"], definition: ["o.*"] },
    { type: "range", name: "c", columns: ["number"], definition: [6, null] },
  ];
  const validated = async (answer: { validated: boolean }[]) =>
    answer.map((constraint) => constraint.validated);
  t.strictSame(await validated((await put(l, body)).json), [false, true, false]);
  const [object] = (await server.api("GET", `m/layers/${l}/objects/`)).json;
  t.equal((await update(l, object.id, { number: 7 })).status, 200, "what is not changed is not checked");
  t.strictSame(await validated(await get(l)), [false, true, true]);
});

t.test("constraints follow their columns", async (t) => {
  const l = await layer("string", "text");
  await put(l, [
    { type: "enum", name: "both", columns: ["string", "text"], definition: ["a"] },
    { type: "enum", name: "one", columns: ["string"], definition: ["a"] },
  ]);
  await structure(l, "string", { type: "string", code: "renamed" });
  t.match(await get(l), [{ columns: ["renamed", "text"] }, { columns: ["renamed"] }]);
  t.match(await create(l, { renamed: "b" }), violated("renamed"));
  t.match(await structure(l, "renamed", { type: "number" }), {
    status: 500,
    json: { code: "invalid_value", data: { constraint: "both" } },
  });
  t.equal((await structure(l, "renamed", { type: "text" })).status, 200);
  await server.api("DELETE", `m/layers/${l}/structure/renamed/`, { token });
  t.match(await get(l), [{ name: "both", columns: ["text"] }]);
  t.equal((await get(l)).length, 1);
});

t.test("what is no constraint is refused, and the old ones stay", async (t) => {
  const l = await layer("string", "number", "json", "title", "file");
  const good = { type: "enum", name: "good", columns: ["string"], definition: ["a"] };
  await put(l, [good]);
  const bad: [string, unknown][] = [
    ["invalid_value", { ...good, type: "check" }],
    ["invalid_value", { ...good, type: "__proto__" }],
    ["invalid_value", { ...good, columns: [] }],
    ["invalid_value", { ...good, columns: "string" }],
    ["unknown_column", { ...good, columns: ["none"] }],
    ["unknown_column", { ...good, columns: ["__proto__"] }],
    ["unknown_column", { ...good, columns: [5] }],
    ["invalid_value", { ...good, columns: ["json"] }],
    ["invalid_value", { ...good, columns: ["title"] }],
    ["invalid_value", { ...good, columns: ["geom"] }],
    ["invalid_value", { ...good, columns: ["file"] }],
    ["invalid_value", { ...good, columns: ["svc_id"], definition: [1] }],
    ["invalid_value", { ...good, columns: ["string", "number"], definition: ["1"] }],
    ["invalid_value", { ...good, definition: [] }],
    ["invalid_value", { ...good, definition: [null] }],
    ["invalid_value", { ...good, definition: [{}] }],
    ["invalid_value", { ...good, definition: Array(1001).fill("a") }],
    ["invalid_value", { ...good, name: "n".repeat(201) }],
    ["invalid_value", { ...good, columns: ["number"], definition: ["x"] }],
    ["invalid_value", { ...good, type: "range", definition: ["a", "b"] }],
    ["invalid_value", { ...good, type: "range", columns: ["number"], definition: [1] }],
    ["invalid_value", { ...good, type: "range", columns: ["number"], definition: [2, 1] }],
    ["invalid_value", { ...good, type: "range", columns: ["number"], definition: [null, null] }],
    ["invalid_value", { ...good, type: "pattern", columns: ["number"], definition: "1" }],
    ["invalid_value", { ...good, type: "pattern", definition: "(" }],
    ["invalid_value", { ...good, type: "pattern", definition: "a)|(b" }],
    ["invalid_value", { ...good, type: "pattern", definition: "a\\" }],
    ["invalid_value", { ...good, type: "pattern", definition: "(a|b)\\1" }],
    ["invalid_value", { ...good, type: "pattern", definition: "(?=a)(?!b)c" }],
    ["invalid_value", { ...good, type: "pattern", definition: "x".repeat(1001) }],
    ["invalid_value", { ...good, type: "pattern", definition: ["a", "b"] }],
    ["invalid_value", { ...good, type: "pattern", definition: "((((x{255}){255}){255}){255})" }],
  ];
  for (const [code, constraint] of bad)
    t.match(
      await put(l, [good, constraint]),
      { status: 500, json: { code } },
      JSON.stringify(constraint).slice(0, 90),
    );
  for (const body of [{}, null, "x", [5], [null], [[good]]])
    t.equal((await put(l, body)).status, 400, JSON.stringify(body));
  t.match(await put(l, Array(201).fill(good)), { json: { code: "invalid_value" } });
  t.match(await get(l), [{ name: "good" }]);
});

t.test("raw_definition as the filter of a layer selects exactly the objects that offend", async (t) => {
  const l = await layer("string", "number", "datetime", "bool", "text");
  await structure(l, "text", { type: "text", code: "matches" });
  const objects: Record<string, object> = {};
  const add = async (name: string, fields: object) => {
    objects[(await create(l, fields)).json.id] = { name };
  };
  await add("empty", {});
  await add("blank", { string: "", matches: "" });
  await add("good", { string: "it's", number: 5, datetime: "2020-01-01", bool: true, matches: "A-1" });
  await add("quotes", { string: "'' or 1=1 --", matches: "it's" });
  await add("low", { number: -1e-7, datetime: "1999-12-31T23:59:59Z", bool: false, string: "O" });
  await add("high", { number: 10.5, matches: "A-1\n", string: "\\" });
  const definitions: [object, string[]][] = [
    [{ type: "enum", columns: ["string"], definition: ["it's", "\\", 'say "x"', "'"] }, ["quotes", "low"]],
    [{ type: "enum", columns: ["string"], definition: ["'' or 1=1 --"] }, ["good", "low", "high"]],
    [{ type: "enum", columns: ["number"], definition: [5, -1e-7] }, ["high"]],
    [{ type: "enum", columns: ["datetime"], definition: ["2020-01-01T01:00:00+01:00"] }, ["low"]],
    [{ type: "enum", columns: ["bool"], definition: [true] }, ["low"]],
    [{ type: "range", columns: ["number"], definition: [0, 10] }, ["low", "high"]],
    [{ type: "range", columns: ["number"], definition: [null, 1e9] }, []],
    [{ type: "range", columns: ["datetime"], definition: ["2000-01-01", null] }, ["low"]],
    [{ type: "pattern", columns: ["matches"], definition: "[A-Z]-\\d+|x" }, ["quotes", "high"]],
    [{ type: "pattern", columns: ["string"], definition: "[^']*('[^']*)?" }, ["quotes"]],
    [{ type: "pattern", columns: ["string", "matches"], definition: ".{1,4}" }, ["quotes"]],
  ];
  for (const [at, [constraint, offenders]] of definitions.entries()) {
    const [{ raw_definition, validated }] = (await put(l, [{ name: "", ...constraint }])).json;
    const body = { code: `off${at}`, type: "virtual", source: { layer: l, filter: raw_definition } };
    t.equal((await server.api("POST", "m/layers/", { token, body })).status, 200, raw_definition);
    const found = (await server.api("GET", `m/layers/off${at}/objects/?sort=svc_id`)).json;
    const names = found.map(({ id }: { id: number }) => objects[id]);
    t.same(
      names,
      offenders.map((name) => ({ name })),
      raw_definition,
    );
    t.equal(validated, offenders.length === 0);
  }
  await put(l, []);
});

t.test("filters with regular expressions that cannot be compiled make no layer", async (t) => {
  const l = await layer("string");
  for (const expression of ["(", "a)(b", "((a{1,100}){1,100}){1,100}", "x".repeat(1_001)]) {
    const source = { layer: l, filter: `string matches '${expression}'` };
    const body = { code: "broken", type: "virtual", source };
    t.match(await server.api("POST", "m/layers/", { token, body }), {
      status: 500,
      json: { code: "invalid_value" },
    });
  }
  t.equal((await server.api("GET", "m/layers/broken/")).status, 404);
});

t.test("a pattern that would run for ever is cut short", async (t) => {
  const l = await layer("string");
  const value = `${"a".repeat(120_000)}c`;
  const before = await create(l, { string: value });
  // A lookaround at each place of a long value.
  const definition = "((?=.*x).|a)*[ab]{250}";
  const answer = await put(l, [
    { type: "pattern", name: "slow", columns: ["string"], definition },
    { type: "enum", name: "late", columns: ["string"], definition: [value] },
  ]);
  t.match(answer, { status: 200, json: [{ validated: false }, {}] });
  t.match(await create(l, { string: value }), {
    status: 500,
    json: { code: "constraint_violated", message: /too long/ },
  });
  t.equal((await create(l, { string: "" })).status, 200);
  t.equal((await server.api("GET", `m/layers/${l}/objects/${before.json.id}/`)).status, 200);
});

t.test("an object that is larger than a row is refused, and nothing is lost", async (t) => {
  const l = await layer();
  const codes = Array.from({ length: 500 }, (_, i) => `c${i}`);
  const { rows } = await server.sql.query("select id from node where code = $1", [l]);
  const { addColumns } = await import("../../src/catalog/columns.js");
  const { services } = server.nodes[0]!;
  await addColumns(
    services.db,
    Number(rows[0].id),
    codes.map((code) => ({ code, type: "string" as const })),
  );
  await services.changes.propagate();
  const long = Object.fromEntries(codes.map((code) => [code, "abcdefghijklmnopqrstuvwxyz"]));
  t.match(await server.api("POST", `m/layers/${l}/objects/`, { token, body: { fields: long } }), {
    status: 500,
    json: { code: "invalid_value" },
  });
  t.equal(await objects(l), 0);
});

t.test("while objects are checked others change the map, and who leaves ends the check", async (t) => {
  const l = await layer("number");
  const { rows } = await server.sql.query("select id from node where code = $1", [l]);
  const held = () => {
    const { reads, writes, background } = server.nodes[0]!.services.db.counts().purposes;
    return [reads.held, writes.held, background.held];
  };
  const definition = [{ type: "range", name: "", columns: ["number"], definition: [0, 1] }];
  const ask = (method: string, signal: AbortSignal, key?: string) =>
    fetch(`${server.url}/api/2.8/p/m/layers/${l}/constraints/`, {
      method,
      signal,
      headers: {
        "x-token": admin,
        "content-type": "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      ...(method === "PUT" && { body: JSON.stringify(definition) }),
    }).then(
      ({ status }) => status,
      () => "left",
    );
  for (const [method, key] of [["PUT"], ["PUT", "once-and-no-more"], ["GET"]] as const) {
    if (method === "GET") t.equal((await put(l, definition)).status, 200);
    const leaving = new AbortController();
    await server.sql.query("begin");
    await server.sql.query(`lock table layers.l${rows[0].id} in access exclusive mode`);
    try {
      const left = ask(method, leaving.signal, key);
      await lockWaiters(server.sql);
      t.same(held(), [1, 0, 0], `${method} reads`);
      const published = await server.api("POST", "m/publish/", { token: admin, body: [] });
      t.equal(published.status, 200);
      leaving.abort();
      t.equal(await left, "left");
      await waitFor(() => held().every((count) => count === 0));
    } finally {
      await server.sql.query("rollback");
    }
    if (method === "PUT") t.same(await get(l), [], "nothing was changed");
  }
});
