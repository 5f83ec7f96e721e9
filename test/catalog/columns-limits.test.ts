import t from "tap";
import { purgeBin } from "../../src/catalog/bin-contents.js";
import { addColumns } from "../../src/catalog/columns.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Layers with as many columns as there can be. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const token = await server.token("editor");
const { services } = server.nodes[0]!;
const types = ["number", "string", "bool", "datetime", "json", "text"] as const;

t.test("a layer works with 1000 columns", async (t) => {
  const { id } = await makeStyledLayer(
    server,
    "m",
    "wide",
    "#a { marker-width: 4; [c5 = 'x'] { marker-width: 9; } }",
  );
  const columns = Array.from({ length: 999 }, (_, i) => ({ code: `c${i}`, type: types[i % types.length]! }));
  await services.db.transaction((tx) => addColumns(tx, id, columns));
  await services.changes.propagate();
  const last = await server.api("POST", "m/layers/wide/structure/", {
    token,
    body: { code: "last", type: "number", sort: 1 },
  });
  t.match(last, { status: 200, json: { code: "last", sort: 1 } });
  t.equal((await server.api("GET", "m/layers/wide/structure/")).json.length, 1_002);
  t.match(
    await server.api("POST", "m/layers/wide/structure/", { token, body: { code: "more", type: "title" } }),
    {
      status: 500,
      json: { code: "invalid_value" },
    },
  );

  const values: Record<(typeof types)[number], unknown> = {
    number: 1.5,
    string: "x",
    bool: true,
    datetime: "2024-05-01T12:00:00Z",
    json: { a: 1 },
    text: "y",
  };
  const fields = {
    last: 7,
    ...Object.fromEntries(
      columns.filter((_, i) => i % 2 === 0).map(({ code, type }) => [code, values[type]]),
    ),
  };
  const made = await server.api("POST", "m/layers/wide/objects/", {
    token,
    body: { fields, geom: square(0, 0, 1) },
  });
  t.equal(made.status, 200);
  t.match(made.json.fields, fields);
  t.equal(Object.keys(made.json.fields).length, 1_001);
  const path = `m/layers/wide/objects/${made.json.id}/`;
  t.match((await server.api("PUT", path, { token, body: { fields: { c998: true } } })).json.fields, {
    last: 7,
  });
  for (const query of [
    "fields=*",
    "fields=*&limit=10&f=fjson",
    "fields=*&format=geojson",
    "fields=c998&sort=c998,d",
  ])
    t.equal((await server.api("GET", `m/layers/wide/objects/?${query}`)).status, 200, query);
  t.equal((await server.api("GET", path)).json.fields.c0, 1.5);

  const changed = await server.api("PATCH", "m/layers/wide/structure/c0/", {
    token,
    body: { type: "string" },
  });
  t.equal(changed.status, 200);
  t.equal((await server.api("GET", path)).json.fields.c0, "1.5");
  t.equal((await server.api("DELETE", "m/layers/wide/structure/c1/", { token })).status, 200);
  t.equal((await server.api("GET", "m/layers/wide/structure/")).json.length, 1_001);
});

t.test("a table that many columns have left has room again", async (t) => {
  const { id } = await makeStyledLayer(server, "m", "worn", "#a { polygon-fill: red; }");
  const table = `layers.l${id}`;
  await server.api("POST", "m/layers/worn/structure/", { token, body: { code: "kept", type: "string" } });
  const make = () =>
    server.api("POST", "m/layers/worn/objects/", {
      token,
      body: { fields: { kept: "x" }, geom: square(0, 0, 1) },
    });
  const first = (await make()).json.id;
  // What deleting columns one by one leaves behind.
  for (let round = 0; round < 2; round++) {
    const names = Array.from({ length: 790 }, (_, i) => `x${i}`);
    await server.sql.query(
      `alter table ${table} ${names.map((name) => `add column ${name} int`).join(", ")}`,
    );
    await server.sql.query(`alter table ${table} ${names.map((name) => `drop column ${name}`).join(", ")}`);
  }
  await server.sql.query(`create index worn_index on ${table} (svc_id, geom)`);
  const triggers = async () =>
    (
      await server.sql.query(
        "select tgname from pg_trigger where tgrelid = $1::regclass and not tgisinternal order by 1",
        [table],
      )
    ).rows;
  const before = await triggers();
  for (const code of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
    const answer = await server.api("POST", "m/layers/worn/structure/", {
      token,
      body: { code, type: "number" },
    });
    t.equal(answer.status, 200, answer.text);
  }
  const second = await make();
  t.equal(second.json.id, first + 1, "ids go on");
  const list = (await server.api("GET", "m/layers/worn/objects/?fields=kept&returnGeom=1")).json;
  t.strictSame(
    list.map((object: { id: number; fields: object }) => [object.id, object.fields]),
    [
      [first, { kept: "x" }],
      [first + 1, { kept: "x" }],
    ],
  );
  t.strictSame(list[0].geom, square(0, 0, 1));
  t.strictSame(await triggers(), before);
  const { rows } = await server.sql.query(
    "select max(attnum)::int as ever from pg_attribute where attrelid = $1::regclass",
    [table],
  );
  t.ok(rows[0].ever < 100, "the table was written anew");
  const index = await server.sql.query(
    "select 1 from pg_indexes where schemaname = 'layers' and indexname = 'worn_index'",
  );
  t.equal(index.rowCount, 1);
});

t.test("what other relations hold fast is refused in words, and stays", async (t) => {
  const { id } = await makeStyledLayer(server, "m", "held", "#a { polygon-fill: red; }");
  const body = { code: "a", type: "string" };
  const column = (await server.api("POST", "m/layers/held/structure/", { token, body })).json;
  await server.sql.query(`create view layers.held_view as select svc_id, c${column.id} from layers.l${id}`);
  t.match(await server.api("PATCH", "m/layers/held/structure/a/", { token, body: { type: "number" } }), {
    status: 500,
    json: { code: "invalid_value" },
  });
  t.match((await server.api("GET", "m/layers/held/structure/")).json[2], { code: "a", type: "string" });
  t.equal(
    (await server.api("PATCH", "m/layers/held/structure/a/", { token, body: { type: "text" } })).status,
    200,
  );
  t.equal((await server.api("DELETE", "m/layers/held/structure/a/", { token })).status, 200);
  await purgeBin(server.nodes[0]!.services.db, { olderThanDays: 0, now: new Date(Date.now() + 60_000) });
  await t.resolves(server.sql.query("select from layers.held_view"), "its values stay");
});
