import t from "tap";
import { nearSql } from "../../src/tiles/large-shapes.js";
import { emptyBins } from "../support/bin.js";
import { addObject, makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { fetchVectors, vectorUrl } from "../support/vector-tiles.js";

/** Shapes of many vertices are drawn as if all of them were read, whatever becomes of them. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;

type Place = [lon: number, lat: number];

/** A coast around a place: a ring of so many vertices, 2 degrees wide, as jagged as real ones. */
function ring([lon, lat]: Place, count: number, radius = 1): Place[] {
  const places = Array.from({ length: count }, (_, index): Place => {
    const angle = (2 * Math.PI * index) / count;
    const away = radius * (1 + 0.2 * Math.sin(7 * angle) + 0.02 * Math.sin(211 * angle) * Math.cos(index));
    return [lon + away * Math.cos(angle), lat + away * Math.sin(angle)];
  });
  return [...places, places[0]!];
}

const shapes = {
  "with a lake and islands": {
    type: "MultiPolygon",
    coordinates: [
      [ring([10, 50], 9_000), ring([10.1, 50.1], 1_300, 0.3)],
      [ring([11.8, 50], 400, 0.2)],
      [ring([12.3, 50], 5, 0.1)],
    ],
  },
  // Two turns: inside and outside are not what a valid polygon says.
  "that crosses itself": {
    type: "Polygon",
    coordinates: [
      [
        ...ring([10, 50], 3_000).slice(0, -1),
        ...ring([10.4, 50.2], 3_000, 0.7).slice(0, -1),
        ring([10, 50], 3_000)[0],
      ],
    ],
  },
  "of lines": {
    type: "MultiLineString",
    coordinates: [ring([10, 50], 5_000), ring([10.2, 50], 700, 0.5).slice(0, -1)],
  },
  "beyond 180 degrees": { type: "Polygon", coordinates: [ring([180, 50], 6_000)] },
};

const style =
  "#l { polygon-fill: #2a6fbb; polygon-opacity: 0.5; line-color: #123; line-width: 3; line-join: miter; }";

/** On edges, within, in the lake, outside, and at other scales. */
const views = [
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((side) => ({
    lon: 10 + Math.cos((side * Math.PI) / 4),
    lat: 50 + Math.sin((side * Math.PI) / 4),
    z: 12,
  })),
  { lon: 10.6, lat: 50, z: 13 },
  { lon: 10.1, lat: 50.1, z: 11 },
  { lon: 10.41, lat: 50.1, z: 14 },
  { lon: 9, lat: 50, z: 9 },
  { lon: 10, lat: 50, z: 6 },
  { lon: -179.1, lat: 50, z: 11 },
  { lon: 179.1, lat: 50.2, z: 11 },
];

const read = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer()).toString("base64");
const tiles = (map: string) =>
  Promise.all(
    views.map((view, index) =>
      read(tileUrl(server, map, view, `&base=0${index % 4 === 0 ? "&retina=2" : ""}`)),
    ),
  );

const hasVertexChunks = async (id: number): Promise<boolean> =>
  (await server.sql.query("select has_runs from layer where id = $1", [id])).rows[0].has_runs;
const chunks = async (id: number): Promise<number> =>
  (await server.sql.query(`select count(*)::int as n from layers.l${id}_c`)).rows[0].n;

/** What is drawn when all vertices are read. */
async function drawnWhole(map: string, id: number): Promise<string[]> {
  const change = (value: boolean) =>
    server.sql.query("update layer set has_runs = $2 where id = $1", [id, value]);
  await change(false);
  await node.services.changes.propagate();
  const drawn = await tiles(map);
  await change(true);
  await node.services.changes.propagate();
  return drawn;
}

let maps = 0;
async function makeLayer(css = style): Promise<{ map: string; id: number }> {
  const map = `m${++maps}`;
  await makeMap(server, map);
  return { map, ...(await makeStyledLayer(server, map, "l", css)) };
}

for (const [name, shape] of Object.entries(shapes)) {
  t.test(`a shape ${name} is drawn as when it is read whole`, async (t) => {
    const { map, id } = await makeLayer();
    t.notOk(await hasVertexChunks(id));
    await addObject(server, "l", { type: "Point", coordinates: [10.9, 50] }, { map });
    await addObject(server, "l", shape, { map });
    t.ok(await hasVertexChunks(id));
    const drawn = await tiles(map);
    t.ok(new Set(drawn).size > 2, "much of it is seen");
    t.same(drawn, await drawnWhole(map, id));
  });
}

t.test("a tile reads less than the shape has", async (t) => {
  const { map, id } = await makeLayer();
  await addObject(server, "l", shapes["with a lake and islands"], { map });
  const box = "st_transform(st_makeenvelope(10.99, 49.99, 11.01, 50.01, 4326), 3857)";
  const { rows } = await server.sql.query(
    `select st_npoints(${nearSql(`layers.l${id}_c`, box)}) as near, st_npoints(geom_3857) as whole from layers.l${id} o$`,
  );
  t.ok(rows[0].near < 600, `${rows[0].near} of ${rows[0].whole}`);
});

t.test("vertex chunks follow their objects", async (t) => {
  const { map, id } = await makeLayer();
  const token = await server.token("editor");
  const object = await addObject(server, "l", shapes["with a lake and islands"], { map });
  const path = `${map}/layers/l/objects/${object}/`;
  const all = await chunks(id);
  t.ok(all > 36);

  const moved = { type: "Polygon", coordinates: [ring([10.5, 50.3], 2_500)] };
  t.equal((await server.api("PUT", path, { token, body: { geom: moved } })).status, 200);
  t.equal(await chunks(id), 10);
  t.same(await tiles(map), await drawnWhole(map, id), "after a change");

  const small = { type: "Polygon", coordinates: [ring([10.5, 50.3], 40)] };
  t.equal((await server.api("PUT", path, { token, body: { geom: small } })).status, 200);
  t.equal(await chunks(id), 0);
  t.same(await tiles(map), await drawnWhole(map, id), "after it became small");

  t.equal((await server.api("PUT", path, { token, body: { geom: moved } })).status, 200);
  t.equal((await server.api("DELETE", path, { token })).status, 200);
  t.equal(await chunks(id), 0);
  const empty = await tiles(map);
  t.equal(new Set(empty).size, 2, "nothing is left of it");

  await addObject(server, "l", moved, { map });
  await server.sql.query(`truncate layers.l${id}`);
  t.equal(await chunks(id), 0);

  t.equal((await server.api("DELETE", `${map}/layers/l/`, { token })).status, 200);
  await emptyBins(node.services.db);
  t.equal((await server.sql.query("select to_regclass($1) as r", [`layers.l${id}_c`])).rows[0].r, null);
});

t.test("an import makes them and takes them away", async (t) => {
  const { map, id } = await makeLayer();
  const token = await server.token("editor");
  const put = async (geometries: unknown[]) => {
    const features = geometries.map((geometry) => ({ type: "Feature", properties: {}, geometry }));
    const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/l/import/?action=1&token=${token}`, {
      method: "POST",
      headers: { "content-type": "application/geo+json", "x-filename": "shapes.geojson" },
      body: JSON.stringify({ type: "FeatureCollection", features }),
    });
    t.equal(answer.status, 200, await answer.text());
  };
  const { "with a lake and islands": islands } = shapes;
  // So many that a new table takes the place of the layer's.
  const small = Array.from({ length: 5_200 }, (_, index) => ({
    type: "Polygon",
    coordinates: [ring([-30 + index / 200, 20], 4, 0.004)],
  }));
  await put([islands, ...small]);
  t.ok(await hasVertexChunks(id));
  t.ok((await chunks(id)) > 36);
  t.same(await tiles(map), await drawnWhole(map, id));
  await put([{ type: "Polygon", coordinates: [ring([10, 50], 2_500)] }]);
  t.equal(await chunks(id), 10);
  await put(small);
  t.notOk(await hasVertexChunks(id));
});

t.test("what labels, dashes and patterns look like depends on the whole shape", async (t) => {
  const { map, id } = await makeLayer("#l { line-color: #123; line-width: 2; line-dasharray: 7, 5; }");
  await addObject(server, "l", shapes["of lines"], { map });
  t.same(await tiles(map), await drawnWhole(map, id));
});

t.test("a few large objects are a long list", async (t) => {
  const { map } = await makeLayer();
  for (const name of ["of lines", "that crosses itself"] as const)
    await addObject(server, "l", shapes[name], { map });
  const answer = await fetch(`${server.url}/api/2.8/p/${map}/layers/l/objects/?returnGeom=1&limit=10`);
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("content-length"), null, "it is sent as it is read");
  t.equal(((await answer.json()) as unknown[]).length, 2);
});

t.test("virtual layers and vector tiles read the same", async (t) => {
  const { map, id } = await makeLayer();
  const token = await server.token("admin");
  await addObject(server, "l", shapes["with a lake and islands"], { map });
  const made = await server.api("POST", `${map}/layers/`, {
    token,
    body: { code: "v", type: "virtual", source: { layer: "l" }, css_style: style },
  });
  t.equal(made.status, 200, made.text);
  t.same(await tiles(map), await drawnWhole(map, id));

  let seen = 0;
  for (const view of views.slice(0, 13)) {
    const { layers, status } = await fetchVectors(vectorUrl(server, map, view));
    t.equal(status, 200);
    const vertices = (layers.get("l") ?? []).flatMap(({ geometry }) => geometry).flat();
    t.ok(
      vertices.every(({ x, y }) => x >= -64 && x <= 4160 && y >= -64 && y <= 4160),
      "nothing reaches out of the tile",
    );
    t.ok(view.z < 11 || vertices.length < 600);
    seen += vertices.length;
  }
  t.ok(seen > 500);
});
