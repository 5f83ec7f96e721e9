import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Materialized layers: objects copied from a source and refreshed by the owner. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];

await makeMap(server, "m");
const source = await makeStyledLayer(server, "m", "source", "#a { polygon-fill: #ff0000; }");
const columnId = (
  await sql.query(
    "insert into layer_column (layer_id, code, type, sort) values ($1, 'size', 'number', 3) returning id",
    [source.id],
  )
).rows[0].id;
await sql.query(`alter table layers.l${source.id} add column c${columnId} float8`);
await server.nodes[0]!.services.changes.propagate();

const add = async (size: number, lon: number) =>
  (
    await api("POST", "m/layers/source/objects/", {
      token: editor,
      body: { fields: { size }, geom: square(lon, 10, 1) },
    })
  ).json.id as number;
const [small, large] = [await add(1, 10), await add(100, 20)];
const objects = async () => (await api("GET", "m/layers/copy/objects/?fields=size&sort=svc_id")).json;
const refresh = (token: string | undefined, layer = "copy") =>
  api("POST", `m/layers/${layer}/refresh/`, { token });

t.test("a materialized layer is filled when it is made", async (t) => {
  const body = { code: "copy", type: "material", source: { layer: "source", filter: "size > 10" } };
  const made = await api("POST", "m/layers/", { token: editor, body });
  t.match(made, {
    status: 200,
    json: { type: "material", source: { layer: "source", filter: "size > 10" } },
  });
  t.same(await objects(), [{ id: large, fields: { size: 100 } }]);
  t.equal((await api("GET", "m/layers/copy/count/")).json, 1);
  t.same((await api("GET", "m/layers/copy/?returnBbox=1")).json.bbox, { sw: [10, 20], ne: [11, 21] });
});

t.test("while it is filled, others change the map", async (t) => {
  await sql.query(`begin; lock table layers.l${source.id} in access exclusive mode`);
  const body = { code: "slow", type: "material", source: { layer: "source" } };
  const making = api("POST", "m/layers/", { token: editor, body });
  await lockWaiters(sql, 1);
  const changed = await api("POST", "m/folders/", { token: editor, body: { code: "meanwhile" } });
  t.equal(changed.status, 200, changed.text);
  await sql.query("rollback");
  t.match(await making, {
    status: 200,
    json: { code: "slow", type: "material", source: { layer: "source" } },
  });
  t.equal((await api("GET", "m/layers/slow/count/")).json, 2);
  t.equal((await api("DELETE", "m/layers/slow/", { token: editor })).status, 200);
});

t.test("it keeps its objects until its owner refreshes it", async (t) => {
  const third = await add(200, 30);
  await api("PUT", `m/layers/source/objects/${small}/`, { token: editor, body: { fields: { size: 50 } } });
  await api("DELETE", `m/layers/source/objects/${large}/`, { token: editor });
  t.same(await objects(), [{ id: large, fields: { size: 100 } }]);
  const answer = await refresh(editor);
  t.match(answer, { status: 200, json: { type: "material", code: "copy", css_style: String } });
  t.same(await objects(), [
    { id: small, fields: { size: 50 } },
    { id: third, fields: { size: 200 } },
  ]);
});

t.test("a refresh writes only what differs", async (t) => {
  const id = (await api("GET", "m/layers/copy/")).json.id;
  const version = async () =>
    Number(
      (await sql.query("select version >> 20 as version from layer where id = $1", [id])).rows[0].version,
    );
  const before = await version();
  t.equal((await refresh(editor)).status, 200);
  t.equal(await version(), before, "nothing changed");
  await api("PUT", `m/layers/source/objects/${small}/`, { token: editor, body: { fields: { size: 60 } } });
  t.equal((await refresh(editor)).status, 200);
  t.equal(await version(), before + 1);
  const log = await sql.query(
    "select area from layer_change where layer_id = $1 order by version desc limit 1",
    [id],
  );
  t.equal(log.rows[0].area.length, 8, "the old and the new box of one object");
});

t.test("nobody but the owner refreshes it", async (t) => {
  t.equal((await refresh(admin)).status, 403);
  t.equal((await refresh(viewer)).status, 403);
  t.equal((await refresh(undefined)).status, 401);
  t.equal((await refresh(editor, "none")).status, 404);
  t.match(await refresh(editor, "source"), {
    status: 500,
    json: { error: "error", code: "not_materialized" },
  });
  await api("POST", "m/layers/", {
    token: admin,
    body: { code: "v", type: "virtual", source: { layer: "source" } },
  });
  t.match(await refresh(admin, "v"), { status: 500, json: { code: "not_materialized" } });
});

t.test("the old objects are read while a refresh runs", async (t) => {
  const other = new (await import("pg")).default.Client({ connectionString: server.database.url });
  await other.connect();
  t.teardown(() => other.end());
  const { id } = (await api("GET", "m/layers/copy/")).json;
  await api("DELETE", `m/layers/source/objects/${small}/`, { token: editor });
  // A writer that holds a row of the copy keeps the refresh from its end.
  await other.query("begin");
  await other.query("select from mapwright.layer where id = $1 for update", [id]);
  const running = refresh(editor);
  await lockWaiters(sql);
  t.equal((await objects()).length, 2);
  await other.query("commit");
  t.equal((await running).status, 200);
  t.equal((await objects()).length, 1);
});

t.test("its objects are not edited", async (t) => {
  const [object] = await objects();
  for (const [method, path, body] of [
    ["POST", "objects/", { fields: {} }],
    ["PUT", `objects/${object.id}/`, { fields: { size: 1 } }],
    ["DELETE", `objects/${object.id}/`, undefined],
    ["POST", "makevalid/", undefined],
  ] as const) {
    const answer = await api(method, `m/layers/copy/${path}`, { token: admin, body });
    t.match(answer, { status: 500, json: { code: "invalid_value" } }, `${method} ${path}`);
  }
});

t.test("a materialized layer may be made from a virtual one, and virtual ones from it", async (t) => {
  const made = await api("POST", "m/layers/", {
    token: editor,
    body: { code: "deep", type: "material", source: { layer: "v", filter: "size > 100", columns: "size" } },
  });
  t.equal(made.status, 200, made.text);
  const view = { code: "top", type: "virtual", source: { layer: "deep" } };
  t.equal((await api("POST", "m/layers/", { token: editor, body: view })).status, 200);
  const [object] = (await api("GET", "m/layers/deep/objects/?fields=size")).json;
  await api("PUT", `m/layers/source/objects/${object.id}/`, {
    token: editor,
    body: { fields: { size: 777 } },
  });
  t.same((await api("GET", "m/layers/top/objects/?fields=size")).json, [object]);
  t.equal((await refresh(editor, "deep")).status, 200);
  t.same((await api("GET", "m/layers/top/objects/?fields=size")).json, [
    { id: object.id, fields: { size: 777 } },
  ]);
  t.match(await api("DELETE", "m/layers/v/", { token: editor }), {
    status: 500,
    json: { data: { layers: ["deep"] } },
  });
  for (const code of ["top", "deep", "v", "copy", "source"])
    t.equal((await api("DELETE", `m/layers/${code}/`, { token: editor })).status, 200, code);
});

t.test("a large one is drawn from generalised geometry", async (t) => {
  const big = await makeStyledLayer(server, "m", "big", "#a { polygon-fill: #ff0000; }");
  await sql.query(
    `insert into layers.l${big.id} (geom)
     select st_buffer(st_setsrid(st_point(x * 4, 10), 4326), 1.5, 'quad_segs=200') from generate_series(1, 40) x`,
  );
  const body = { code: "bigcopy", type: "material", source: { layer: "big" } };
  const { id } = (await api("POST", "m/layers/", { token: editor, body })).json;
  const bands = async () => (await sql.query("select bands from layer where id = $1", [id])).rows[0].bands;
  t.ok((await bands()).length > 0);
  await sql.query(`delete from layers.l${big.id} where svc_id > 10`);
  t.equal((await refresh(editor, "bigcopy")).status, 200);
  const [finest] = (await bands()).slice(-1);
  t.equal(Number((await sql.query(`select count(*) from layers.l${id}_z${finest}`)).rows[0].count), 10);
});
