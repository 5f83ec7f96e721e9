import pg from "pg";
import t, { type Test } from "tap";
import { emptyBins } from "../support/bin.js";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Virtual layers: views of another layer's objects. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];

const mapId = await makeMap(server, "m");
const base = (await api("POST", "m/layers/", { token: editor, body: { code: "base" } })).json as {
  id: number;
};
for (const [code, type] of Object.entries({
  kind: "string",
  size: "number",
  tags: "json",
  when: "datetime",
})) {
  const { id } = (
    await sql.query(
      "insert into layer_column (layer_id, code, type, sort, name) values ($1, $2, $3, 10, $2) returning id",
      [base.id, code, type],
    )
  ).rows[0];
  const physical = { string: "text", number: "float8", json: "jsonb", datetime: "timestamptz" }[type];
  await sql.query(`alter table layers.l${base.id} add column c${id} ${physical}`);
}
const refreshCatalogue = () => Promise.all(server.nodes.map((node) => node.services.changes.propagate()));
await refreshCatalogue();

const add = async (fields: object, geom: unknown = null) => {
  const made = await api("POST", "m/layers/base/objects/", { token: editor, body: { fields, geom } });
  if (made.status !== 200) throw new Error(made.text);
  return made.json.id as number;
};
const make = (body: object, token = editor) => api("POST", "m/layers/", { token, body });
const codes = (list: { code: string }[]) => list.map(({ code }) => code);

const town = await add({ kind: "town", size: 5, tags: { a: 1 }, when: "2020-01-01" }, square(10, 10, 2));
const city = await add({ kind: "city", size: 50 }, square(40, 40, 2));
const empty = await add({ kind: "city" });

t.test("a virtual layer shows the objects that its filter selects", async (t) => {
  const made = await make({
    code: "cities",
    type: "virtual",
    name: "Cities",
    source: { layer: "base", filter: "kind = 'city'", columns: ["kind", "size"] },
  });
  t.match(made, {
    status: 200,
    json: {
      type: "virtual",
      code: "cities",
      name: "Cities",
      source: { layer: "base", columns: ["kind", "size"] },
    },
  });
  t.same((await api("GET", "m/layers/cities/objects/?fields=*&sort=svc_id")).json, [
    { id: city, fields: { svc_id: city, kind: "city", size: 50 } },
    { id: empty, fields: { svc_id: empty, kind: "city", size: null } },
  ]);
  t.same(codes((await api("GET", "m/layers/cities/structure/")).json), ["svc_id", "geom", "kind", "size"]);
  t.equal((await api("GET", "m/layers/cities/count/")).json, 2);
  t.equal((await api("GET", "m/layers/cities/count/?precise=1")).json, 2);
  t.same((await api("GET", `m/layers/cities/objects/${city}/?returnGeom=1&returnBbox=1`)).json, {
    id: city,
    fields: { svc_id: city, kind: "city", size: 50 },
    geom: square(40, 40, 2),
    bbox: { sw: [40, 40], ne: [42, 42] },
  });
  t.same((await api("GET", `m/layers/cities/objects/${town}/`)).json, { id: town, fields: {} });
  t.same((await api("GET", "m/layers/cities/?returnBbox=1")).json.bbox, { sw: [40, 40], ne: [42, 42] });
  const tree = await api("GET", "m/layers/?returnBbox=1");
  t.match(tree.json, [
    { code: "base", bbox: { sw: [10, 10], ne: [42, 42] } },
    { code: "cities", type: "virtual", bbox: { sw: [40, 40], ne: [42, 42] } },
  ]);
  const filtered = await api("POST", "m/layers/cities/filter/", {
    body: { fields: "size", fcode: "size", fval: 50, fbbox: "39,39,41,41" },
  });
  t.same(filtered.json, [{ id: city, fields: { size: 50 } }]);
});

t.test("without a filter and columns it shows everything, titles included", async (t) => {
  await sql.query("insert into layer_column (layer_id, code, type, sort) values ($1, 'about', 'title', 3)", [
    base.id,
  ]);
  await sql.query(
    `update layer_column set parent_id = (select id from layer_column where layer_id = $1 and code = 'about')
     where layer_id = $1 and code = 'kind'`,
    [base.id],
  );
  await refreshCatalogue();
  t.match(await make({ code: "all", type: "virtual", source: { layer: "base" } }), { status: 200 });
  const structure = (await api("GET", "m/layers/all/structure/")).json;
  t.same(codes(structure).sort(), ["about", "geom", "kind", "size", "svc_id", "tags", "when"]);
  const column = (code: string) => structure.find((one: { code: string }) => one.code === code);
  t.equal(column("kind").parent_id, column("about").id);
  const own = (await api("GET", "m/layers/base/structure/")).json.map((one: { id: number }) => one.id);
  t.notOk(
    structure.some((one: { id: number }) => own.includes(one.id)),
    "ids are its own",
  );
  t.match((await api("GET", `m/layers/all/objects/${town}/`)).json.fields, {
    kind: "town",
    tags: { a: 1 },
    when: "2020-01-01T00:00:00Z",
  });
});

t.test("localised columns are filtered by the main language", async (t) => {
  const { id } = (
    await sql.query(
      `insert into layer_column (layer_id, code, type, localized_value, sort)
       values ($1, 'label', 'string', true, 20) returning id`,
      [base.id],
    )
  ).rows[0];
  await sql.query(`alter table layers.l${base.id} add column c${id} jsonb`);
  await sql.query(
    `update layers.l${base.id} set c${id} = '{"en":"Town","ru":"Город"}' where svc_id = ${town}`,
  );
  await refreshCatalogue();
  t.equal(
    (await make({ code: "label", type: "virtual", source: { layer: "base", filter: "label = 'Town'" } }))
      .status,
    200,
  );
  t.same((await api("GET", "m/layers/label/objects/?fields=label&lng=ru")).json, [
    { id: town, fields: { label: "Город" } },
  ]);
});

t.test("its objects are edited in the source alone", async (t) => {
  const writes = [
    ["POST", "objects/", { fields: { kind: "x" } }],
    ["PUT", `objects/${city}/`, { fields: { kind: "x" } }],
    ["DELETE", `objects/${city}/`, undefined],
    ["PUT", `objects/${city}/geom/`, square(0, 0, 1)],
    ["POST", "makevalid/", undefined],
  ] as const;
  for (const [method, path, body] of writes) {
    const answer = await api(method, `m/layers/cities/${path}`, { token: admin, body });
    t.match(answer, { status: 500, json: { code: "invalid_value" } }, `${method} ${path}`);
  }
  const imported = await api("POST", "m/layers/cities/import/", {
    token: admin,
    body: { type: "FeatureCollection", features: [] },
  });
  t.match(imported, { status: 500, json: { code: "import_failed" } });
  t.equal((await api("GET", "m/layers/base/count/")).json, 3);
});

t.test("what cannot be made is refused and leaves nothing", async (t) => {
  const before = (await api("GET", "m/layers/?type=full")).json.length;
  const cases: [object, object][] = [
    [
      { type: "virtual" },
      { status: 500, json: { code: "required_parameters", data: { required: ["source"] } } },
    ],
    [
      { type: "virtual", source: {} },
      { status: 500, json: { data: { required: ["source.layer"] } } },
    ],
    [
      { type: "virtual", source: "base" },
      { status: 500, json: { code: "invalid_value" } },
    ],
    [{ type: "virtual", source: { layer: "none" } }, { status: 404 }],
    [
      { type: "virtual", source: { layer: "cities" } },
      { status: 500, json: { code: "invalid_value" } },
    ],
    [
      { type: "virtual", source: { layer: "base", filter: "kind =" } },
      { status: 500, json: { code: "invalid_value" } },
    ],
    [
      { type: "virtual", source: { layer: "base", filter: "none = 1" } },
      { status: 500, json: { code: "unknown_column", message: /"none"/ } },
    ],
    [
      { type: "virtual", source: { layer: "base", columns: ["none"] } },
      { status: 500, json: { code: "unknown_column", data: { columns: { none: String } } } },
    ],
    [
      { type: "virtual", source: { layer: "base", columns: [7] } },
      { status: 500, json: { code: "invalid_value" } },
    ],
    [{ type: "raster" }, { status: 500, json: { code: "invalid_value" } }],
    [{ type: "folder" }, { status: 500, json: { code: "invalid_value" } }],
  ];
  for (const [body, wanted] of cases) t.match(await make(body), wanted, JSON.stringify(body));
  const source = { layer: "base" };
  t.equal((await make({ type: "virtual", source }, viewer)).status, 403);
  t.equal((await api("POST", "m/layers/", { body: { type: "virtual", source } })).status, 401);
  t.equal((await api("GET", "m/layers/?type=full")).json.length, before);
});

t.test("what it is made from is told to those who may change it", async (t) => {
  t.match((await api("GET", "m/layers/cities/", { token: editor })).json.source, { filter: "kind = 'city'" });
  t.notOk("source" in (await api("GET", "m/layers/cities/", { token: viewer })).json);
  t.notOk("source" in (await api("GET", "m/layers/cities/")).json);
});

t.test("a source stays while layers are made from it", async (t) => {
  const refused = {
    status: 500,
    json: { code: "invalid_value", data: { layers: ["all", "cities", "label"] } },
  };
  t.match(await api("DELETE", "m/layers/base/", { token: editor }), refused);
  t.equal((await api("GET", "m/layers/base/count/")).json, 3);
  await t.rejects(
    sql.query("delete from node where id = $1", [base.id]),
    { code: "23503" },
    "SQL clients are refused too",
  );
  t.equal((await api("GET", "m/layers/cities/count/")).json, 2);
});

t.test("columns stay while a layer shows them or filters by them", async (t) => {
  await makeMap(server, "columns");
  const call = (method: string, path: string, body?: unknown) =>
    api(method, `columns/layers/${path}`, { token: editor, body });
  await call("POST", "", { code: "t" });
  for (const code of ["shown", "filtered", "free"])
    await call("POST", "t/structure/", { code, type: "string" });
  const source = { layer: "t", filter: "filtered = 'x'", columns: ["shown"] };
  await call("POST", "", { code: "v", type: "virtual", source });
  await call("POST", "", { code: "w", type: "material", source });
  const refused = { status: 500, json: { code: "invalid_value", data: { layers: ["v", "w"] } } };
  for (const code of ["shown", "filtered"]) {
    t.match(await call("DELETE", `t/structure/${code}/`), refused, code);
    t.match(await call("PATCH", `t/structure/${code}/`, { type: "number" }), refused, code);
    const renamed = await call("PATCH", `t/structure/${code}/`, { type: "text", code: `${code}2` });
    t.equal(renamed.status, 200, "a name, a code and a type of the same values may change");
  }
  t.equal((await call("DELETE", "t/structure/free/")).status, 200);
  t.equal((await call("POST", "t/structure/", { code: "late", type: "number" })).status, 200);
  await call("POST", "t/objects/", { fields: { shown2: "a", filtered2: "x", late: 1 } });
  t.same((await call("GET", "v/objects/?fields=shown")).json, [{ id: 1, fields: { shown: "a" } }]);
  t.equal((await call("POST", "w/refresh/")).status, 200);
  t.same((await call("GET", "w/objects/?fields=shown")).json, [{ id: 1, fields: { shown: "a" } }]);
  for (const layer of ["v", "w"]) {
    for (const [method, path, body] of [
      ["POST", "", { code: "more", type: "string" }],
      ["PATCH", "shown/", { type: "number" }],
      ["DELETE", "shown/", undefined],
    ] as const) {
      const answer = await call(method, `${layer}/structure/${path}`, body);
      t.match(answer, { status: 500, json: { code: "invalid_value" } }, `${layer} ${method}`);
    }
  }
});

/** A connection of its own, for a transaction beside others. */
async function newWriter(t: Test): Promise<pg.Client> {
  const writer = new pg.Client({ connectionString: server.database.url });
  await writer.connect();
  t.teardown(() => writer.end());
  return writer;
}

t.test("a virtual layer made while its source is written is not behind", async (t) => {
  await makeMap(server, "race");
  const source = await makeStyledLayer(server, "race", "s", "#a { polygon-fill: #ff0000; }");
  const writer = await newWriter(t);
  await writer.query("begin");
  await writer.query(`insert into layers.l${source.id} (geom) values (st_setsrid(st_point(1, 1), 4326))`);
  // The writer's commit work begins before the layer exists, and ends after it.
  await writer.query("set constraints all immediate");
  const made = api("POST", "race/layers/", {
    token: editor,
    body: { code: "v", type: "virtual", source: { layer: "s" } },
  });
  await lockWaiters(sql);
  await writer.query("commit");
  t.equal((await made).status, 200);
});

t.test("who has the source's table for itself may take the map's row", async (t) => {
  await makeMap(server, "ended");
  const source = await makeStyledLayer(server, "ended", "s", "#a { polygon-fill: #ff0000; }");
  const writer = await newWriter(t);
  // As an import at its end.
  await writer.query(`begin; lock table layers.l${source.id} in access exclusive mode`);
  const made = api("POST", "ended/layers/", {
    token: editor,
    body: { code: "v", type: "virtual", source: { layer: "s" } },
  });
  await lockWaiters(sql);
  await writer.query("set search_path = mapwright, public");
  await writer.query("select from map where code = 'ended' for no key update nowait");
  await writer.query("commit");
  t.equal((await made).status, 200);
});

t.test("a virtual layer goes without its source, a map with all of it", async (t) => {
  await makeMap(server, "gone");
  const made = async (body: object) =>
    (await api("POST", "gone/layers/", { token: editor, body })).json.id as number;
  const table = await made({ code: "t" });
  const view = await made({ code: "v", type: "virtual", source: { layer: "t" } });
  const second = await made({ code: "w", type: "virtual", source: { layer: "t" } });
  const material = await made({ code: "x", type: "material", source: { layer: "w" } });
  t.equal((await api("DELETE", "gone/layers/v/", { token: editor })).status, 200);
  const left = async () =>
    (
      await sql.query(
        `select relname from pg_class where relnamespace = 'layers'::regnamespace and relkind in ('r', 'v')
         and relname ~ ('^l(' || array_to_string($1::text[], '|') || ')(_|$)') order by 1`,
        [[table, view, second, material]],
      )
    ).rows.map((row) => row.relname);
  await emptyBins(server.nodes[0]!.services.db);
  t.same(await left(), [`l${table}`, `l${second}`, `l${material}`, `l${material}_source`].sort());
  t.match(await api("DELETE", "gone/layers/w/", { token: editor }), {
    status: 500,
    json: { data: { layers: ["x"] } },
  });
  t.equal((await api("DELETE", "gone/", { token: await server.token("admin") })).status, 200);
  await emptyBins(server.nodes[0]!.services.db);
  t.same(await left(), []);
});

t.test("tiles show it, and an edit of the source is in the next one on every node", async (t) => {
  await makeMap(server, "drawn");
  await makeStyledLayer(server, "drawn", "hidden", "#a { line-width: 0; }");
  await sql.query("update node set selected = false where code = 'hidden'");
  const made = await api("POST", "drawn/layers/", {
    token: editor,
    body: {
      code: "shown",
      type: "virtual",
      css_style: "#a { polygon-fill: #ff0000; }",
      source: { layer: "hidden", filter: "svc_id <> 2" },
    },
  });
  t.equal(made.status, 200, made.text);
  const painted = async (node: number) => {
    const answer = await fetch(tileUrl(server, "drawn", { lon: 10, lat: 10, z: 6 }, "&base=0", node));
    return (await picture(await answer.arrayBuffer())).painted;
  };
  for (const node of [0, 1]) t.equal(await painted(node), 0);
  const version = async () =>
    Number(
      (await sql.query("select version >> 20 as version from layer where id = $1", [made.json.id])).rows[0]
        .version,
    );
  const before = await version();
  for (const node of [0, 1]) {
    const id = await addObject(server, "hidden", square(9, 9, 3), { map: "drawn", node });
    // Object 2 is what the filter leaves out.
    for (const asked of [0, 1]) t.equal((await painted(asked)) > 0, id !== 2, `object ${id}, node ${asked}`);
    await api("DELETE", `drawn/layers/hidden/objects/${id}/`, { token: editor, node: 1 - node });
    for (const asked of [0, 1]) t.equal(await painted(asked), 0);
  }
  t.equal(await version(), before + 4);
});

t.test("indexes of the source serve its views", async (t) => {
  await sql.query(
    `insert into layers.l${base.id} (geom) select st_setsrid(st_point(i % 360 - 180, i % 170 - 85), 4326)
     from generate_series(1, 20000) i`,
  );
  await sql.query(`analyze layers.l${base.id}`);
  const view = (await api("GET", "m/layers/all/")).json.id;
  const plan = async (condition: string) =>
    (await sql.query(`explain select * from layers.l${view} where ${condition}`)).rows
      .map((row) => row["QUERY PLAN"])
      .join("\n");
  for (const condition of [
    "geom && st_makeenvelope(0, 0, 1, 1, 4326)",
    "geom_3857 && st_makeenvelope(0, 0, 1000, 1000, 3857)",
    "svc_id = 7",
  ])
    t.match(await plan(condition), /Index Scan/, condition);
  const estimate = (await api("GET", "m/layers/all/count/")).json;
  t.ok(Math.abs(estimate - 20_003) < 2_000, `estimated ${estimate}`);
  t.equal((await api("GET", "m/layers/all/count/?precise=true")).json, 20_003);
  await sql.query(`delete from layers.l${base.id} where svc_id > ${empty}`);
});

t.test("a large source's generalised geometry draws its views", async (t) => {
  await makeMap(server, "large");
  const source = await makeStyledLayer(server, "large", "source", "#a { polygon-fill: #ff0000; }");
  await sql.query(
    `insert into layers.l${source.id} (geom)
     select st_buffer(st_setsrid(st_point(x * 4, 10), 4326), 1.5, 'quad_segs=200') from generate_series(1, 40) x`,
  );
  const bands = (await sql.query("select generalize_layer($1) as bands", [source.id])).rows[0].bands;
  t.ok(bands.length > 0);
  await sql.query("update node set selected = false where id = $1", [source.id]);
  const body = {
    code: "few",
    type: "virtual",
    css_style: "#a { polygon-fill: #ff0000; }",
    source: { layer: "source", filter: "svc_id <= 5" },
  };
  t.equal((await api("POST", "large/layers/", { token: editor, body })).status, 200);
  const painted = async (lon: number) => {
    const answer = await fetch(tileUrl(server, "large", { lon, lat: 10, z: 5 }, "&base=0"));
    return (await picture(await answer.arrayBuffer())).painted;
  };
  t.ok((await painted(8)) > 0, "what it shows");
  t.equal(await painted(80), 0, "what its filter leaves out");
});

t.test("who may not read the source makes no layer from it", async (t) => {
  await sql.query(
    `insert into access_grant (project_id, map_id, layer_id, account_id, rights)
     select p.id, $1, $2, a.id, 0 from project p, account a where p.code = 'p' and a.login = 'editor'`,
    [mapId, base.id],
  );
  await Promise.all(server.nodes.map((node) => node.services.changes.propagate()));
  t.equal((await make({ type: "virtual", source: { layer: "base" } })).status, 403);
});
