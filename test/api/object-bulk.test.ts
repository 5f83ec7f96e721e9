import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { makeFileLayer, send } from "./files.support.js";

/** Many edits of a layer in one request: all are done, or none. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "");
const column = async (code: string, type: string, more: object = {}, of = "l") => {
  const { status, text } = await api("POST", `m/layers/${of}/structure/`, {
    token: editor,
    body: { code, type, ...more },
  });
  if (status !== 200) throw new Error(text);
};
await column("name", "string", { required: true });
await column("size", "number");
await column("day", "datetime");
await column("open", "bool");
await column("extra", "json");
await column("label", "string", { localized_value: true });
await column("rank", "number", { localized_value: true });

const bulk = (edits: unknown, { query = "", of = "l", ...more }: Record<string, any> = {}) =>
  api("POST", `m/layers/${of}/objects/bulk/${query}`, { token: editor, body: edits, ...more });
const objects = async (query = "fields=*&returnGeom=1", of = "l") =>
  (await api("GET", `m/layers/${of}/objects/?${query}`, { token: editor, node: 1 })).json as any[];
const one = async (id: number, query = "") =>
  (await api("GET", `m/layers/l/objects/${id}/?returnGeom=1&${query}`)).json;
const point = (x: number, y: number) => ({ type: "Point", coordinates: [x, y] });

t.test("edits are done as single ones are, and answered in their order", async (t) => {
  const values = {
    name: 'a "quoted" \\ {text}, NULL',
    size: 1.5,
    day: "2024-05-06T07:08:09.123456+02:00",
    open: true,
    extra: { a: ['"', "\\", null, "}"] },
    label: { en: "one", ru: "один" },
    rank: 3,
  };
  const made = await bulk([
    { op: "create", fields: values, geom: point(1, 2) },
    { op: "create", fields: { name: "NULL", size: null, label: "x" } },
    { op: "create", fields: { name: "" + "\u{1f4a5}\n\t", open: "0", rank: { en: 1.5 } }, geom: null },
  ]);
  t.equal(made.status, 200, made.text);
  t.equal(made.headers.get("content-type"), "application/json; charset=utf-8");
  t.match(made.json, [{ op: "create" }, { op: "create" }, { op: "create" }]);
  const [first, second, third] = made.json.map(({ id }: { id: number }) => id);
  t.ok(first < second && second < third);
  const single = (
    await api("POST", "m/layers/l/objects/?returnGeom=1", {
      token: editor,
      body: { fields: values, geom: point(1, 2) },
    })
  ).json;
  const asSingle = await one(first);
  t.same({ ...asSingle.fields, svc_id: 0 }, { ...single.fields, svc_id: 0 });
  t.same(asSingle.geom, single.geom);
  t.match(await one(first, "lng=ru"), { fields: { label: "один", rank: null } });
  t.match(await one(second), { fields: { name: "NULL", size: null, label: "x" }, geom: null });
  t.match(await one(third), { fields: { name: "\u{1f4a5}\n\t", open: false, rank: 1.5 } });

  const changed = await bulk(
    [
      { op: "update", id: first, fields: { label: "eins", size: 7 }, geom: point(3, 4) },
      { op: "delete", id: second },
      { op: "update", id: String(third), geom: point(5, 6) },
      { op: "create", fields: { name: "new" } },
      { op: "update", id: single.id, fields: {} },
    ],
    { query: "?lng=de" },
  );
  t.equal(changed.status, 200, changed.text);
  t.match(changed.json.slice(0, 3), [
    { op: "update", id: first },
    { op: "delete", id: second },
    { op: "update", id: third },
  ]);
  t.match(await one(first), {
    fields: { label: "one", size: 7, name: values.name, open: true },
    geom: point(3, 4),
  });
  t.match(await one(first, "lng=de"), { fields: { label: "eins" } });
  t.same((await one(second)).fields, {});
  t.match(await one(third), { fields: { name: "\u{1f4a5}\n\t" }, geom: point(5, 6) });
  t.match(await one(changed.json[3].id), { fields: { name: "new" } });
  t.match((await bulk([{ op: "update", id: first, fields: { label: null, rank: null } }])).json, [
    { id: first },
  ]);
  t.match(await one(first), { fields: { label: null, rank: null } });
  t.match(await one(first, "lng=ru"), { fields: { label: "один" } });
});

t.test("lines of JSON are edits too, in small and in large bodies", async (t) => {
  for (const count of [3, 2_000]) {
    const before = (await objects("")).length;
    const lines = Array.from({ length: count }, (_, i) =>
      JSON.stringify({ op: "create", fields: { name: `line ${i}` }, geom: point(i % 90, 1) }),
    );
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/l/objects/bulk/`, {
      method: "POST",
      headers: { "x-token": editor, "content-type": "application/x-ndjson" },
      body: `\n${lines.join("\n\r\n")}\n`,
    });
    t.equal(answer.status, 200);
    t.equal(((await answer.json()) as unknown[]).length, count);
    t.equal((await objects("")).length, before + count);
  }
  const broken = await fetch(`${server.url}/api/2.8/p/m/layers/l/objects/bulk/`, {
    method: "POST",
    headers: { "x-token": editor },
    body: '{"op":"delete","id":1}\n{"op":',
  });
  t.equal(broken.status, 400);
  t.match(await broken.text(), /Line 2/);
});

t.test("edits of one object are done in their order", async (t) => {
  const [{ id }, { id: other }] = (
    await bulk([
      { op: "create", fields: { name: "0" } },
      { op: "create", fields: { name: "other" } },
    ])
  ).json;
  const steps = Array.from({ length: 20 }, (_, i) => ({
    op: "update",
    id,
    fields: { name: `${i}`, size: i },
  }));
  const answer = await bulk([
    ...steps,
    { op: "update", id: other, fields: { size: 1 } },
    { op: "delete", id: other },
  ]);
  t.equal(answer.status, 200, answer.text);
  t.match(await one(id), { fields: { name: "19", size: 19 } });
  t.same((await one(other)).fields, {});
  const gone = await bulk([
    { op: "delete", id },
    { op: "update", id, fields: { size: 2 } },
  ]);
  t.equal(gone.status, 404);
  t.match(await one(id), { fields: { size: 19 } }, "nothing was done");
  const often = Array.from({ length: 101 }, () => ({ op: "update", id, fields: { size: 3 } }));
  t.match(await bulk(often), { status: 500, json: { code: "invalid_value", data: { index: 100 } } });
});

t.test("an edit that cannot be done undoes all, and says which it is", async (t) => {
  const before = await objects();
  const id = before[0].id;
  const good = { op: "create", fields: { name: "good" } };
  for (const [edits, code, index, data] of [
    [[good, { op: "create", fields: {} }], "invalid_value", 1, { columns: { name: String } }],
    [[good, { op: "create", fields: { name: "" } }], "invalid_value", 1, {}],
    [[good, { op: "create" }], "required_parameters", 1, { required: ["fields"] }],
    [
      [good, { op: "create", fields: { name: "x", size: "much" } }],
      "invalid_value",
      1,
      { columns: { size: String } },
    ],
    [[good, { op: "create", fields: { name: "x", none: 1 } }], "unknown_column", 1, {}],
    [
      [good, good, { op: "create", fields: { name: "x" }, geom: { type: "Point" } }],
      "invalid_geometry",
      2,
      {},
    ],
    [[good, { op: "create", fields: { name: "x" }, geom: "" }], "invalid_geometry", 1, {}],
    [[good, { op: "update", id, fields: { name: null } }], "invalid_value", 1, {}],
    [[good, { op: "update", id }], "required_parameters", 1, {}],
    [[good, { op: "update", fields: { size: 1 } }], "required_parameters", 1, { required: ["id"] }],
    [[good, { op: "delete", id: "x" }], "invalid_value", 1, {}],
    [[good, { op: "delete", id: 1.5 }], "invalid_value", 1, {}],
    [[good, { op: "drop", id }], "invalid_value", 1, { parameter: "op" }],
    [[good, { id }], "required_parameters", 1, { required: ["op"] }],
    [[good, 7], "invalid_value", 1, {}],
    [[good, null], "invalid_value", 1, {}],
    [[good, { __proto__: { op: "delete", id } }], "required_parameters", 1, {}],
  ] as const) {
    const answer = await bulk(edits);
    t.match(
      answer,
      { status: 500, json: { code, data: { ...data, index, items: [{ index, code }] } } },
      answer.text,
    );
    t.match(answer.json?.message, new RegExp(`^Edit ${index + 1}: `));
  }
  const several = await bulk([{ op: "x" }, good, { op: "create", fields: {} }, ...new Array(40).fill({})]);
  t.match(several.json.data.items.slice(0, 2), [{ index: 0 }, { index: 2 }]);
  t.equal(several.json.data.items.length, 20);
  const missing = await api("POST", "m/layers/l/objects/bulk/", {
    token: editor,
    body: [good, { op: "delete", id: 987_654 }],
    headers: { accept: "application/json" },
  });
  t.match(missing, { status: 404, json: { detail: "Edit 2: There is no object 987654." } });
  for (const body of [{ op: "create", fields: { name: "x" } }])
    t.equal((await bulk(body)).status, 200, "one line");
  t.equal((await bulk("text")).status, 500);
  t.same((await bulk([])).json, []);
  t.same(await objects("limit=1&fields=*&returnGeom=1"), before.slice(0, 1));
  t.equal((await objects("")).length, before.length + 1);
});

t.test("constraints and required languages are checked as of single edits", async (t) => {
  await makeStyledLayer(server, "m", "c", "");
  await column("kind", "string", { required: true, localized_value: true }, "c");
  await column("size", "number", {}, "c");
  await column("code", "string", {}, "c");
  await column("rank", "number", { localized_value: true }, "c");
  const put = await api("PUT", "m/layers/c/constraints/", {
    token: await server.token("admin"),
    body: [
      { type: "range", columns: ["size", "rank"], definition: [0, 10] },
      { type: "enum", columns: ["kind"], definition: ["a", "b"] },
      { type: "pattern", columns: ["code"], definition: ["[A-Z]+"] },
    ],
  });
  t.equal(put.status, 200, put.text);
  const fields = { kind: "a", size: 3, code: "AB", rank: { en: 1, ru: 2 } };
  const made = await bulk(
    [
      { op: "create", fields },
      { op: "create", fields: { ...fields, code: "", size: null } },
    ],
    { of: "c" },
  );
  t.equal(made.status, 200, made.text);
  const { id } = made.json[0];
  for (const wrong of [
    { size: 11 },
    { code: "ab" },
    { kind: "c" },
    { kind: { en: "a", ru: "z" } },
    { rank: { en: 1, ru: 20 } },
    { rank: -1 },
  ]) {
    for (const edit of [
      { op: "create", fields: { ...fields, ...wrong } },
      { op: "update", id, fields: wrong },
    ]) {
      const answer = await bulk([{ op: "create", fields }, edit], { of: "c" });
      const columns = { [Object.keys(wrong)[0]!]: String };
      t.match(
        answer,
        { status: 500, json: { code: "constraint_violated", data: { index: 1, columns } } },
        answer.text,
      );
    }
  }
  const empty = await bulk(
    [
      { op: "update", id, fields: { size: 1 } },
      { op: "update", id, fields: { kind: null } },
    ],
    { of: "c" },
  );
  t.match(empty, {
    status: 500,
    json: { code: "invalid_value", data: { index: 1, columns: { kind: String } } },
  });
  t.equal((await objects("", "c")).length, 2);
  t.equal(
    (
      await bulk(
        [
          { op: "update", id, fields: { kind: "b" } },
          { op: "update", id, fields: { kind: null } },
        ],
        { of: "c", query: "?lng=ru" },
      )
    ).status,
    200,
    "another language is left",
  );
});

t.test("objects list files of their own only", async (t) => {
  await makeFileLayer(server, "files");
  const [a, b] = (
    await bulk(
      [
        { op: "create", fields: { name: "a" } },
        { op: "create", fields: { name: "b" } },
      ],
      { of: "files" },
    )
  ).json;
  const file = (await send(server, `files/objects/${a.id}`, { bytes: "x" })).json.id;
  const other = (await send(server, `files/objects/${a.id}`, { bytes: "y" })).json.id;
  t.equal(
    (await bulk([{ op: "update", id: a.id, fields: { files: `${other},${file}` } }], { of: "files" })).status,
    200,
  );
  t.match((await objects("fields=files", "files"))[0].fields, { files: `${other},${file}` });
  for (const edit of [
    { op: "update", id: b.id, fields: { files: String(file) } },
    { op: "create", fields: { files: String(file) } },
    { op: "update", id: a.id, fields: { papers: String(file) } },
  ])
    t.match(await bulk([edit], { of: "files" }), {
      status: 500,
      json: { code: "invalid_value", data: { index: 0 } },
    });
});

t.test("who may not edit the objects may edit none, and derived layers are not edited", async (t) => {
  const edits = [{ op: "create", fields: { name: "x" } }];
  t.equal((await bulk(edits, { token: undefined })).status, 401);
  t.equal((await bulk(edits, { token: viewer })).status, 403);
  await api("POST", "m/layers/", {
    token: editor,
    body: { code: "copy", type: "virtual", source: { layer: "l" } },
  });
  t.match(await bulk(edits, { of: "copy" }), { status: 500, json: { code: "invalid_value" } });
  t.equal((await bulk(edits, { of: "none" })).status, 404);
});

t.test("with an Idempotency-Key many edits are done once", async (t) => {
  const headers = { "idempotency-key": "bulk-1" };
  const edits = Array.from({ length: 500 }, (_, i) => ({ op: "create", fields: { name: `once ${i}` } }));
  const before = (await objects("")).length;
  const first = await bulk(edits, { headers });
  t.equal(first.status, 200, first.text);
  t.same((await bulk(edits, { headers })).json, first.json);
  t.match(await bulk(edits.slice(1), { headers }), { status: 500, json: { code: "invalid_value" } });
  t.equal((await objects("")).length, before + 500);
  const failing = { headers: { "idempotency-key": "bulk-2" } };
  t.equal((await bulk([...edits, { op: "delete", id: 987_654 }], failing)).status, 404);
  t.equal((await objects("")).length, before + 500);
});

t.test("the change log has a few rows for many edits, and every node knows of them", async (t) => {
  const changes = async () =>
    Number(
      (await sql.query("select count(*) as n from layer_change where layer_id = $1", [layer.id])).rows[0].n,
    );
  const rows = await changes();
  const edits = Array.from({ length: 5_000 }, (_, i) => ({
    op: "create",
    fields: { name: `many ${i}`, ...(i % 2 && { size: i }) },
    geom: point(i % 90, i % 45),
  }));
  const made = await bulk(edits);
  t.equal(made.status, 200, made.text.slice(0, 200));
  t.ok((await changes()) - rows <= 1);
  const ids = made.json.map(({ id }: { id: number }) => id);
  t.same(
    ids,
    [...ids].sort((a, b) => a - b),
    "ids in the order of the edits",
  );
  t.match(await one(ids[4_321]), { fields: { name: "many 4321", size: 4_321 } });
  const gone = await bulk(ids.map((id: number) => ({ op: "delete", id })));
  t.equal(gone.status, 200);
  t.notOk((await objects("fields=name&fcode=name&fval=many 1")).length);
});

t.test("two that edit the same objects in other orders do not hold each other up", async (t) => {
  const made = (await bulk(Array.from({ length: 300 }, () => ({ op: "create", fields: { name: "x" } }))))
    .json;
  const edits = made.map(({ id }: { id: number }) => ({ op: "update", id, fields: { size: 1 } }));
  const answers = await Promise.all(
    [edits, [...edits].reverse(), edits, [...edits].reverse()].map((some) => bulk(some)),
  );
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
});
