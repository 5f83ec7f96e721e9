import t from "tap";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Repair of a layer's geometry. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#a { polygon-fill: #ff0000; }");
const repair = (token?: string, code = "l") => api("POST", `m/layers/${code}/makevalid/`, { token });

const bowTie = {
  type: "Polygon",
  coordinates: [
    [
      [0, 0],
      [4, 4],
      [4, 0],
      [0, 4],
      [0, 0],
    ],
  ],
};
const flat = {
  type: "Polygon",
  coordinates: [
    [
      [0, 0],
      [1, 1],
      [2, 2],
      [0, 0],
    ],
  ],
};
const spike = {
  type: "Polygon",
  coordinates: [
    [
      [0, 0],
      [4, 0],
      [4, 4],
      [8, 8],
      [4, 4],
      [0, 4],
      [0, 0],
    ],
  ],
};
const line = {
  type: "LineString",
  coordinates: [
    [1, 1],
    [1, 1],
  ],
};
const ids: number[] = [];
for (const geom of [bowTie, flat, spike, line, square(20, 20, 2), null]) {
  const made = await api("POST", "m/layers/l/objects/", { token: editor, body: { fields: {}, geom } });
  if (made.status !== 200) throw new Error(made.text);
  ids.push(made.json.id);
}
const state = async () =>
  (
    await sql.query(
      `select st_isvalid(geom) as valid, geometrytype(geom) as type, st_area(geom) as area from layers.l${layer.id} order by svc_id`,
    )
  ).rows;

t.test("invalid geometries are repaired and stay of their dimension", async (t) => {
  t.match(await state(), [
    { valid: false },
    { valid: false },
    { valid: false },
    { valid: false },
    { valid: true },
  ]);
  const answer = await repair(editor);
  t.match(answer, { status: 200, json: { id: layer.id, code: "l", type: "layer" } });
  t.notOk("css_style" in answer.json);
  t.same(await state(), [
    { valid: true, type: "MULTIPOLYGON", area: 8 },
    // Without any area there is no polygon in it.
    { valid: false, type: "POLYGON", area: 0 },
    { valid: true, type: "POLYGON", area: 16 },
    { valid: false, type: "LINESTRING", area: 0 },
    { valid: true, type: "POLYGON", area: 4 },
    { valid: null, type: null, area: null },
  ]);
});

t.test("a second repair changes nothing", async (t) => {
  const version = async () =>
    (await sql.query("select version from layer where id = $1", [layer.id])).rows[0].version;
  const before = await version();
  t.equal((await repair(editor)).status, 200);
  t.equal(await version(), before);
});

t.test("tiles of what was repaired are drawn again", async (t) => {
  const bowTieAt60 = "POLYGON((58 8, 62 12, 62 8, 58 12, 58 8))";
  await sql.query(`insert into layers.l${layer.id} (geom) values (st_geomfromtext($1, 4326))`, [bowTieAt60]);
  await repair(editor);
  const { rows } = await sql.query(
    "select area from layer_change where layer_id = $1 order by version desc limit 1",
    [layer.id],
  );
  t.equal(rows[0].area.length, 8, "the box before and the box after");
});

t.test("only who may edit objects repairs, and only layers that have some", async (t) => {
  t.equal((await repair()).status, 401);
  t.equal((await repair(viewer)).status, 403);
  t.equal((await repair(editor, "none")).status, 404);
  t.equal((await repair(viewer, "none")).status, 403);
});
