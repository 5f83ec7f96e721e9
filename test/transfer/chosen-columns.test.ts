import t from "tap";
import { startServer } from "../support/server.js";
import { rowsOf, xlsxOf } from "../support/xlsx.js";

/** What an import is told of the columns of a file: their types, names and notations, and which hold coordinates. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
const admin = await server.token("admin");
await server.api("POST", "", { token: admin, body: { code: "m" } });

let layers = 0;
async function newLayer(): Promise<string> {
  const code = `l${++layers}`;
  await server.api("POST", "m/layers/", { token, body: { code } });
  return code;
}

interface Sent {
  readonly name?: string;
  readonly columns?: unknown;
  readonly coordinates?: unknown;
  readonly query?: string;
  readonly by?: string;
}

/** Sends the file as a form, with what is said of its columns. */
async function send(
  layer: string,
  text: string | Buffer,
  { name = "a.csv", columns, coordinates, query = "action=1", by = token }: Sent = {},
) {
  const form = new FormData();
  const given = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (columns !== undefined) form.append("columns", given(columns));
  if (coordinates !== undefined) form.append("coordinates", given(coordinates));
  form.append("file", new Blob([text as never]), name);
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${layer}/import/?${query}`, {
    method: "POST",
    headers: { "x-token": by },
    body: form,
  });
  const isJson = answer.headers.get("content-type")?.includes("json");
  const { import: done, ...rest } = isJson ? ((await answer.json()) as any) : {};
  return { status: answer.status, done, ...rest };
}

const columnsOf = async (layer: string) =>
  Object.fromEntries(
    (await server.api("GET", `m/layers/${layer}/structure/`, { token })).json
      .filter(({ code }: any) => code !== "svc_id" && code !== "geom")
      .map(({ code, type }: any) => [code, type]),
  );
const objectsOf = async (layer: string) =>
  (await server.api("GET", `m/layers/${layer}/objects/?fields=*&returnGeom=1&sort=svc_id`, { token })).json;
const valuesOf = async (layer: string, code: string) =>
  (await objectsOf(layer)).map(({ fields }: any) => fields[code]);

t.test("columns get the types and names that are wanted, and some are left out", async (t) => {
  const layer = await newLayer();
  const rows = "number,remark,height,at\n12,a,1e3,2024-05-01\n7,b,2,2024-05-02\n";
  const columns = {
    number: { type: "string" },
    remark: null,
    height: { name: "Höhe" },
    at: { type: "text" },
  };
  const { status, done } = await send(layer, rows, { columns });
  t.equal(status, 200);
  t.same(done.written.sort(), ["Hohe", "at", "number"]);
  t.same(await columnsOf(layer), { number: "string", Hohe: "number", at: "text" });
  t.same(await valuesOf(layer, "number"), ["12", "7"]);
  t.same(await valuesOf(layer, "Hohe"), [1000, 2]);
  t.same(await valuesOf(layer, "at"), ["2024-05-01", "2024-05-02"]);
  t.match(done.columns, [{ code: "number" }, { code: "Hohe", name: "Höhe" }, { code: "at" }]);
});

t.test("values that do not fit their type are told, and nothing is written without partial", async (t) => {
  const layer = await newLayer();
  const rows = "n,d,b\n1,2024-02-28,true\nmany,2024-02-30,yes\n3,2024-02-29,0\n,,\n0x10,2024-01-01,true\n";
  const columns = { n: { type: "number" }, d: { type: "datetime" }, b: { type: "bool" } };
  const refused = await send(layer, rows, { columns });
  t.match(refused, { status: 500, code: "import_failed", data: { feature: 2, count: 2, column: "n" } });
  t.match(refused.message, /"many" is not a value of type number for column n/);
  t.same(await columnsOf(layer), {});
  const { done } = await send(layer, rows, { columns, query: "action=1&partial=1" });
  t.match(done, {
    added: 3,
    bad: 2,
    rows: [
      { row: 2, reason: /many/ },
      { row: 5, reason: /0x10/ },
    ],
  });
  t.same(await valuesOf(layer, "d"), ["2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z", null]);
  t.same(await valuesOf(layer, "b"), [true, false, null]);
});

t.test("cells without a value say nothing of the notation", async (t) => {
  const layer = await newLayer();
  const rows = ["planted;amount", "31.12.2024;1,5", ";", " ; ", ";", "1.2.2024;2,5", "soon;many"].join("\n");
  const columns = { planted: { type: "datetime" }, amount: { type: "number" } };
  const { done } = await send(layer, rows, { columns, query: "action=1&partial=1" });
  t.match(done, { added: 5, bad: 1 });
  t.same(
    (await valuesOf(layer, "planted")).filter((value: unknown) => value !== null),
    ["2024-12-31T00:00:00Z", "2024-02-01T00:00:00Z"],
  );
});

t.test("digits behind a point are no group of thousands", async (t) => {
  const said = (notation: string) => ({ n: { type: "number", notation } });
  const written = async (notation: string, texts: readonly string[], name = "a.csv") => {
    const layer = await newLayer();
    const rows = name.endsWith("csv")
      ? ["n;m", ...texts.map((text) => `"${text}";x`)].join("\n")
      : JSON.stringify({
          type: "FeatureCollection",
          features: texts.map((text) => ({
            type: "Feature",
            geometry: null,
            properties: { n: JSON.parse(text) },
          })),
        });
    const { done } = await send(layer, rows, {
      ...{ name, columns: said(notation), query: "action=1&partial=1" },
    });
    return { bad: done.rows.map(({ row }: { row: number }) => row), values: await valuesOf(layer, "n") };
  };
  t.same(
    await written("decimal_comma", ["1.234,5", "0.125", "-0.750", "1 234.567", "1 234,5", "1.234", "1.5"]),
    {
      bad: [2, 3, 4, 7],
      values: [1234.5, 1234.5, 1234],
    },
  );
  t.same(await written("grouped", ["1,234.5", "0,125", "1 234,567", "1,234", "1,5"]), {
    bad: [2, 3, 5],
    values: [1234.5, 1234],
  });
  // What is a number in the file is the number that it is.
  t.same(
    await written("decimal_comma", ["1.234", '"2,5"', "12.345", "0.125", '"1.234,5"', "1e3"], "a.geojson"),
    {
      bad: [],
      values: [1.234, 2.5, 12.345, 0.125, 1234.5, 1000],
    },
  );
  t.same(await written("decimal_comma", ["12.345", "12.5", "-7"], "a.geojson"), {
    bad: [],
    values: [12.345, 12.5, -7],
  });
});

t.test(
  "a column that is counted for a map by values gets another type, with rules and without",
  async (t) => {
    for (const hasRules of [true, false]) {
      const layer = await newLayer();
      await send(layer, "k,n\na,1\nb,2\n");
      const [{ id, column, key }] = (
        await server.sql.query(
          `select n.id, c.id as column, k.id as key from node n join layer_column c on c.layer_id = n.id and c.code = 'n'
           join layer_column k on k.layer_id = n.id and k.code = 'k' where n.code = $1`,
          [layer],
        )
      ).rows;
      // As it is made for a layer of many objects.
      await server.sql.query(
        `create index tally_${column} on layers.l${id} ((case when c${column} between -1.79e308 and 1.79e308 then c${column} end))`,
      );
      if (hasRules) await server.sql.query("update layer_column set required = true where id = $1", [key]);
      const { status } = await send(layer, "k,n\na,007\n", { columns: { n: { type: "string" } } });
      t.equal(status, 200, hasRules ? "in its own table" : "in a new one");
      t.same(await columnsOf(layer), { k: "string", n: "string" });
      t.same(await valuesOf(layer, "n"), ["007"]);
    }
  },
);

t.test("a notation is found out by what fits most values, or said", async (t) => {
  const rows = [
    "amount;date;both",
    '"1.234,5";1.2.2024 9:05;03/04/2024',
    '"2,5";31.12.2024;05/06/2024',
    '"1.5";2024-01-01;06/07/2024',
  ].join("\n");
  const layer = await newLayer();
  const columns = { amount: { type: "number" }, date: { type: "datetime" }, both: { type: "datetime" } };
  const found = await send(layer, rows, { columns, query: "action=1&partial=1" });
  t.match(
    found.done.notes.join(" "),
    /"amount" was read in the notation decimal_comma.*"date" was read in the notation day_first/,
  );
  t.match(found.done, { added: 2, bad: 1 });
  t.match(found.done.rows[0].reason, /"1.5" is not a value of type number|"2024-01-01"/);
  t.same(await valuesOf(layer, "date"), ["2024-02-01T09:05:00Z", "2024-12-31T00:00:00Z"]);
  t.same(await valuesOf(layer, "both"), ["2024-04-03T00:00:00Z", "2024-06-05T00:00:00Z"]);
  t.same(await valuesOf(layer, "amount"), [1234.5, 2.5]);
  const said = {
    amount: { type: "number", notation: "decimal_comma" },
    date: null,
    both: { type: "datetime", notation: "month_first" },
  };
  const other = await send(layer, rows, { columns: said, query: "action=1&partial=1" });
  t.match(other.done, { added: 2, bad: 1, rows: [{ row: 3 }] });
  t.same(await valuesOf(layer, "both"), ["2024-03-04T00:00:00Z", "2024-05-06T00:00:00Z"]);
});

t.test("a dry run shows what would become of the columns, those left out among them", async (t) => {
  const layer = await newLayer();
  const rows = "id,x1,lon,lat\n1;5,1,13,52\n2;5,2,14,53\n";
  const columns = { x1: null, id: { name: "nr" } };
  const { done } = await send(layer, rows, { columns, query: "action=1&dry_run=1" });
  t.same(done.preview.coordinates, ["lon", "lat"]);
  t.match(done.preview.columns, [
    { name: "id", code: "nr", is_read: true, is_new: true },
    { name: "x1", code: null, is_read: false, is_new: false, values: ["1", "2"] },
  ]);
  t.same(done.preview.features[0].fields, { nr: "1;5" });
  const spaced = await send(layer, 'a;d\n"1 234,5";1/2/2024\n', {
    columns: { a: { type: "number" }, d: { type: "datetime", notation: "month_first" } },
    query: "action=1&dry_run=1",
  });
  t.match(spaced.done.preview.columns, [{ notation: "decimal_comma" }, { notation: "month_first" }]);
  t.same(await columnsOf(layer), {}, "and changes nothing");
});

t.test(
  "names that clash, or that nobody can store, are refused; those that are not there are told",
  async (t) => {
    const layer = await newLayer();
    const rows = "a,b\n1,2\n";
    for (const columns of [
      { a: { name: "b" } },
      { a: { name: " " } },
      { a: { name: "x".repeat(1_001) } },
      { a: { name: "\u0000" } },
      { a: { name: "c" }, b: { name: "c" } },
      { a: { type: "file" } },
      { a: { type: "geom" } },
      { a: { type: "number", notation: "day_first" } },
      { a: { notation: "plain" } },
      { a: { kind: "number" } },
      { a: 1 },
      [],
      "no JSON",
      "[".repeat(40_000),
      Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`c${n}`, null])),
    ]) {
      const { status, code, data } = await send(layer, rows, { columns });
      t.match({ status, code, data }, { status: 500, code: "invalid_value", data: { parameter: "columns" } });
    }
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`c${n}`, null]));
    t.equal((await send(layer, rows, { columns: many })).status, 413, "ten thousand are too long");
    const odd = '{"__proto__": {"type": "string"}, "b": {"name": "a"}, "a": {"name": "b"}}';
    const { status, done } = await send(layer, rows, { columns: odd });
    t.equal(status, 200);
    t.match(done.notes.join(" "), /no columns "__proto__"/);
    t.same((await objectsOf(layer))[0].fields.a, 2, "two that change their names");
  },
);

t.test("a name of a column, or of the id, makes a property its values", async (t) => {
  const layer = await newLayer();
  await send(layer, "svc_id,name\n7,Oak\n8,Elm\n");
  const columns = { nr: { name: "svc_id" }, label: { name: "name" } };
  const { done } = await send(layer, "nr,label\n8,Beech\n9,Fir\n", { columns, query: "action=2" });
  t.match(done, { added: 1, updated: 1, columns: [] });
  t.same(
    (await objectsOf(layer)).map(({ id, fields }: any) => [id, fields.name]),
    [
      [7, "Oak"],
      [8, "Beech"],
      [9, "Fir"],
    ],
  );
});

for (const many of [false, true])
  t.test(
    `a column that the layer has gets the type when ${many ? "many" : "few"} objects are replaced`,
    async (t) => {
      const layer = await newLayer();
      const line = "01067,2024\n99,5\n";
      const rows = `plz,n\n${line.repeat(many ? 3_000 : 2)}`;
      await send(layer, rows, { columns: { plz: { type: "number" } } });
      t.same(await columnsOf(layer), { plz: "number", n: "number" });
      const thematic = { type: 1, columnCode: "plz" };
      const drawn = await server.api("PUT", `m/layers/${layer}/visualization/`, { token, body: thematic });
      t.equal(drawn.json.style_mode, 3, drawn.text);
      const kept = await send(layer, rows, { columns: { plz: { type: "string" } }, query: "action=2" });
      t.match(kept, { code: "invalid_value", data: { parameter: "columns", column: "plz" } });
      const { done } = await send(layer, rows, { columns: { plz: { type: "string" }, n: { type: "json" } } });
      t.match(done.notes.join(" "), /The column plz is of the type string now/);
      t.match(done, { added: many ? 6_000 : 4, removed: many ? 6_000 : 4, columns: [] });
      t.same(await columnsOf(layer), { plz: "string", n: "json" });
      const { json: shown } = await server.api("GET", `m/layers/${layer}/`, { token });
      t.match(shown, { style_mode: 2 }, "a map of numbers is none of texts");
      const filter = encodeURIComponent("plz = '01067'");
      const found = await server.api("GET", `m/layers/${layer}/objects/?fields=*&filter=${filter}`, {
        token,
      });
      t.equal(found.json.length, many ? 3_000 : 2);
      t.same(found.json[0].fields.n, 2024);
      const { done: plain } = await send(layer, rows);
      t.equal(plain.bad, 0);
      t.same(await columnsOf(layer), { plz: "string", n: "json" }, "and keeps it");
    },
  );

t.test("who may not change columns, what is made of a column, and rules keep its type", async (t) => {
  const layer = await newLayer();
  await send(layer, "n,name\n1,a\n2,b\n");
  const columns = { n: { type: "string" } };
  const rows = "n,name\n1,a\n";
  const source = { layer, columns: ["n"] };
  await server.api("POST", "m/layers/", { token, body: { code: "v", type: "virtual", source } });
  const { code, message } = await send(layer, rows, { columns });
  t.match({ code, message }, { code: "invalid_value", message: /Layers are made from this one: v/ });
  const tried = await send(layer, rows, { columns, query: "action=1&dry_run=1" });
  t.equal(tried.message, message, "a dry run says what the import would");
  t.equal((await objectsOf(layer)).length, 2, "the layer is as before");
  await server.api("DELETE", "m/layers/v/", { token });
  const body = [{ type: "range", columns: ["n"], definition: [0, 5] }];
  const ruled = await server.api("PUT", `m/layers/${layer}/constraints/`, { token: admin, body });
  t.equal(ruled.status, 200, ruled.text);
  const broken = await send(layer, rows, { columns, query: "action=1&dry_run=1" });
  t.match(broken, { code: "invalid_value", message: /constraint/ });
  t.match(await send(layer, "n\n9\n", { columns: { n: { type: "number" } } }), {
    code: "constraint_violated",
  });
});

t.test("coordinates come from the columns that are named", async (t) => {
  const layer = await newLayer();
  const rows = "a,b,x,y,shape\n13,52,1,2,POINT (5 6)\n14,53,3,4,\n";
  const first = async () => (await objectsOf(layer))[0].geom?.coordinates;
  await send(layer, rows, { coordinates: ["b", "a"] });
  t.same(await first(), [52, 13]);
  t.same(Object.keys((await objectsOf(layer))[0].fields).sort(), ["shape", "svc_id", "x", "y"]);
  await send(layer, rows, { coordinates: ["shape"] });
  t.same(await first(), [5, 6]);
  const { done } = await send(layer, rows, { coordinates: [], query: "action=1&dry_run=1" });
  t.match(done.preview, { coordinates: [], bbox: null });
  for (const coordinates of [["a"], ["a", "none"], ["a", "a"], ["a", "b", "x"], "lon,lat", {}]) {
    const { status, code, data } = await send(layer, rows, { coordinates });
    const isGeometry = Array.isArray(coordinates) && coordinates.length === 1;
    t.equal(status, 500);
    if (isGeometry) t.equal(code, "invalid_geometry", "numbers are no shapes");
    else t.match({ code, data }, { code: "invalid_value", data: { parameter: "coordinates" } });
  }
  const geojson = JSON.stringify({
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: { a: 1 }, geometry: { type: "Point", coordinates: [1, 2] } }],
  });
  const own = await send(layer, geojson, { name: "a.geojson", coordinates: ["a", "b"] });
  t.match(own, { code: "invalid_value", message: /places of its own/ });
});

t.test("a text and a number of one column are told apart", async (t) => {
  const columns = { n: { type: "number", notation: "decimal_comma" } };
  const sheet = rowsOf([
    ["n", "m"],
    [1.234, "x"],
    [5, "x"],
    ["1.234", "x"],
    ["12.345", "x"],
    ["1.234,5", "x"],
  ]);
  for (const [name, file] of [
    ["a.xlsx", await xlsxOf({ sheets: { a: sheet } })],
    [
      "a.geojson",
      JSON.stringify({
        type: "FeatureCollection",
        features: [1.234, 5, "1.234", "12.345", "1.234,5"].map((n) => ({
          ...{ type: "Feature", geometry: null, properties: { n } },
        })),
      }),
    ],
  ] as const) {
    const layer = await newLayer();
    const { done } = await send(layer, file, { name, columns });
    t.equal(done?.bad, 0, name);
    t.same(await valuesOf(layer, "n"), [1.234, 5, 1234, 12345, 1234.5], name);
  }
});

t.test("dates as the API writes them stand beside those in another notation", async (t) => {
  const layer = await newLayer();
  const rows = "d\n31.12.2024\n2024-02-01\n1/2.2024\n2024-02-01 9:30\n2024-02-30\n1/2/2024\n";
  const columns = { d: { type: "datetime", notation: "day_first" } };
  const { done } = await send(layer, rows, { columns, query: "action=1&partial=1" });
  t.same(
    done.rows.map(({ row }: any) => row),
    [3, 5],
  );
  t.same(await valuesOf(layer, "d"), [
    "2024-12-31T00:00:00Z",
    "2024-02-01T00:00:00Z",
    "2024-02-01T09:30:00Z",
    "2024-02-01T00:00:00Z",
  ]);
  const other = await newLayer();
  const found = "d\n1.2.2024\n31.12.2024\n";
  await send(other, found, { columns: { d: { type: "json" } } });
  t.same(await valuesOf(other, "d"), ["2024-02-01", "2024-12-31"], "as JSON, too");
});

/** The table that a layer's objects are in. */
async function tableOf(layer: string): Promise<{ id: number; table: number }> {
  const { rows } = await server.sql.query(
    "select id::int, to_regclass('layers.l' || id)::oid::int as table from node where code = $1",
    [layer],
  );
  return rows[0];
}

t.test("with many objects, readers do not wait until all are written in another type", async (t) => {
  const layer = await newLayer();
  const rows = (n: number) => `n,m\n${"1,2\n".repeat(n)}`;
  await send(layer, rows(2));
  const body = [{ type: "range", columns: ["m"], definition: [0, 5] }];
  t.equal((await server.api("PUT", `m/layers/${layer}/constraints/`, { token: admin, body })).status, 200);
  const { id, table: before } = await tableOf(layer);
  const columns = (type: string) => ({ columns: { n: { type } } });
  t.equal((await send(layer, rows(6_000), columns("string"))).status, 200);
  t.not((await tableOf(layer)).table, before, "a layer with rules gets a new table, too");
  t.match(await send(layer, `n,m\n${"1,9\n".repeat(6_000)}`, columns("number")), {
    code: "constraint_violated",
  });
  t.same(await columnsOf(layer), { n: "string", m: "number" });

  // Somebody reads it for longer than an import waits.
  await server.sql.query("begin");
  await server.sql.query(`select from layers.l${id} limit 1`);
  const refused = await send(layer, rows(20_001), columns("number"));
  await server.sql.query("rollback");
  t.match(refused, { status: 503, code: "busy" });
  t.equal((await objectsOf(layer)).length, 6_000, "the layer is as before");

  const source = { layer, columns: ["m"] };
  await server.api("POST", "m/layers/", { token, body: { code: "shown", type: "virtual", source } });
  const told = await send(layer, rows(20_001), columns("number"));
  t.match(told, { code: "invalid_value", data: { parameter: "columns" } });
  t.match(told.message, /layers are made from/i);
  t.equal((await send(layer, rows(20), columns("number"))).status, 200, "few are written at once");
  await server.api("DELETE", "m/layers/shown/", { token });
});

t.test("points that are thinned by a column get another type of it", async (t) => {
  const layer = await newLayer();
  const rows = (kind: string) =>
    `kind,lon,lat\n${Array.from({ length: 20_100 }, (_, n) => `${kind},${(n % 150) / 500},${Math.floor(n / 150) / 500}\n`).join("")}`;
  await send(layer, rows("A1"));
  const { id } = await tableOf(layer);
  const { rows: columns } = await server.sql.query(
    "select 'c' || id as physical from layer_column where layer_id = $1 and code = 'kind'",
    [id],
  );
  const { physical } = columns[0];
  // As a rule [kind = 'A1'] has it.
  await server.sql.query(
    `insert into thinning (layer_id, number, digest, bits, columns, kinds, keeps, bands)
     values ($1, 2, 'x', $2, array[$3], array_fill(0::bigint, array[13]), array_fill(0::bigint, array[13]), '{}')`,
    [id, `case when o$.${physical} = 'A1' then 1::bigint else 0 end`, physical],
  );
  const changed = await send(layer, rows("7"), { columns: { kind: { type: "number" } } });
  t.equal(changed.status, 200, changed.message);
  t.same(await columnsOf(layer), { kind: "number" });
});
