import t from "tap";
import { makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import type { Assertions } from "../support/safe.js";
import { startServer } from "../support/server.js";
import { collection, feature } from "../support/transfer.js";

/** Heights of positions are kept and given back; everything else takes geometry as flat. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("editor");
await makeMap(server, "m");

const style = "#a { polygon-fill: #f00; line-width: 3; marker-width: 9; }";
const layer = (code: string) => makeStyledLayer(server, "m", code, style);

/** Every type of geometry, its positions with heights; none is valid only on the plane. */
const spatial = {
  Point: { type: "Point", coordinates: [10, 50, 300.5] },
  LineString: {
    type: "LineString",
    coordinates: [
      [10, 50, 1],
      [10, 50, 2],
      [11, 51, -3.25],
    ],
  },
  Polygon: { type: "Polygon", coordinates: [ring(10, 50, 2), ring(10.5, 50.5, 0.5)] },
  MultiPoint: {
    type: "MultiPoint",
    coordinates: [
      [10, 50, 1],
      [11, 51, 2],
    ],
  },
  MultiLineString: {
    type: "MultiLineString",
    coordinates: [
      [
        [10, 50, 1],
        [11, 51, 2],
      ],
      [
        [12, 50, 3],
        [13, 51, 4],
      ],
    ],
  },
  MultiPolygon: { type: "MultiPolygon", coordinates: [[ring(10, 50, 1)], [ring(12, 50, 1)]] },
  GeometryCollection: {
    type: "GeometryCollection",
    geometries: [
      { type: "Point", coordinates: [10, 50, 7] },
      {
        type: "GeometryCollection",
        geometries: [{ type: "Polygon", coordinates: [ring(10, 50, 1)] }],
      },
    ],
  },
};

/** A ring whose positions all have heights of their own. */
function ring(lon: number, lat: number, size: number): number[][] {
  const heights = [100, 101.5, 102, 0, 100];
  return square(lon, lat, size).coordinates[0]!.map((position, at) => [...position, heights[at]!]);
}

/** The same without heights. */
function flat(geometry: unknown): unknown {
  if (Array.isArray(geometry))
    return typeof geometry[0] === "number" ? geometry.slice(0, 2) : geometry.map(flat);
  if (typeof geometry !== "object" || geometry === null) return geometry;
  return Object.fromEntries(Object.entries(geometry).map(([key, value]) => [key, flat(value)]));
}

/** Numbers as they are after the way through another reference system. */
function rounded(geometry: unknown): unknown {
  return JSON.parse(JSON.stringify(geometry), (_key, value) =>
    typeof value === "number" ? Number(value.toFixed(7)) : value,
  );
}

const add = async (t: Assertions, code: string, geom: unknown, query = ""): Promise<number> => {
  const made = await api("POST", `m/layers/${code}/objects/${query}`, { token, body: { fields: {}, geom } });
  t.equal(made.status, 200, made.text);
  return made.json.id;
};
const get = async (path: string) => (await api("GET", `m/layers/${path}`, { token })).json;

t.test("every answer with a geometry has the heights that were sent", async (t) => {
  await layer("kinds");
  for (const [type, geom] of Object.entries(spatial)) {
    const id = await add(t, "kinds", geom);
    const object = `kinds/objects/${id}/`;
    t.same((await get(`${object}?returnGeom=1`)).geom, geom, `${type}: get`);
    t.same(await get(`${object}geom/`), geom, `${type}: geom/`);
    const put = await api("PUT", `m/layers/${object}geom/`, { token, body: flat(geom) });
    t.same(put.json, flat(geom), `${type}: heights go when others are sent`);
    t.same(
      (await api("PUT", `m/layers/${object}geom/`, { token, body: geom })).json,
      geom,
      `${type}: PUT geom/`,
    );
    const body = { fields: {}, geom };
    t.same(
      (await api("PUT", `m/layers/${object}?returnGeom=1`, { token, body })).json.geom,
      geom,
      `${type}: PUT`,
    );
  }
  const all = Object.values(spatial);
  const list = await get("kinds/objects/?returnGeom=1&sort=svc_id");
  t.same(
    list.map(({ geom }: { geom: unknown }) => geom),
    all,
  );
  const features = await get("kinds/objects/?format=geojson&sort=svc_id");
  t.same(
    features.features.map(({ geometry }: { geometry: unknown }) => geometry),
    all,
  );
  const exported = await get("kinds/export/?format=geojson");
  t.same(
    exported.features.map(({ geometry }: { geometry: unknown }) => geometry),
    all,
  );
});

t.test("heights are the same numbers in 3857, sent and answered", async (t) => {
  await layer("mercator");
  for (const [type, geom] of Object.entries(spatial)) {
    const id = await add(t, "mercator", geom);
    const { geom: projected } = await get(`mercator/objects/${id}/?returnGeom=1&geomSR=3857`);
    const again = await add(t, "mercator", projected, "?geomSR=3857");
    t.same(rounded(await get(`mercator/objects/${again}/geom/`)), geom, type);
    const plain = await add(t, "mercator", flat(geom));
    const onPlane = await get(`mercator/objects/${plain}/?returnGeom=1&geomSR=3857`);
    t.same(flat(projected), onPlane.geom, `${type}: heights change nothing on the plane`);
  }
  const exported = await get("mercator/export/?format=geojson&geomSR=3857");
  t.equal(exported.features[0].geometry.coordinates[2], 300.5);
  const polar = await add(t, "mercator", {
    type: "LineString",
    coordinates: [
      [0, 80, 1],
      [0, 90, 2],
    ],
  });
  const cut = await get(`mercator/objects/${polar}/?returnGeom=1&geomSR=3857`);
  t.equal(cut.geom.coordinates[1].length, 2, "where the projection cuts geometry off there is no height");
});

t.test("a position without a height among others is at 0; what follows a height is dropped", async (t) => {
  await layer("mixed");
  const line = (...coordinates: number[][]) => ({ type: "LineString", coordinates });
  for (const [sent, stored] of [
    [line([1, 2], [3, 4, 5]), line([1, 2, 0], [3, 4, 5])],
    [line([1, 2, 3, 99], [3, 4, 5, 98]), line([1, 2, 3], [3, 4, 5])],
    [line([1, 2, 3], [3, 4, -0]), line([1, 2, 3], [3, 4, 0])],
    [
      {
        type: "GeometryCollection",
        geometries: [line([1, 2], [3, 4]), { type: "Point", coordinates: [1, 2, 9] }],
      },
      {
        type: "GeometryCollection",
        geometries: [line([1, 2, 0], [3, 4, 0]), { type: "Point", coordinates: [1, 2, 9] }],
      },
    ],
  ]) {
    const id = await add(t, "mixed", sent);
    t.same(await get(`mixed/objects/${id}/geom/`), stored);
  }
});

t.test("boxes, selections and counts are those of the plane", async (t) => {
  const [high, low] = ["high", "low"];
  await layer(high);
  await layer(low);
  for (const geom of Object.values(spatial)) {
    await add(t, high, geom);
    await add(t, low, flat(geom));
  }
  for (const query of [
    "objects/?returnBbox=1&sort=svc_id",
    "objects/?returnBbox=1&bboxSR=3857&sort=svc_id",
    "objects/?fbbox=50.2,10.2,50.4,10.4&sort=svc_id",
    "objects/?fbbox=51,11,51,11&sort=svc_id",
    "objects/?fbbox=0,0,1,1",
    "objects/?returnGeom=1&returnCentroid=1&sort=svc_id",
    "objects/?returnGeom=1&returnCentroid=1&geomSR=3857&sort=svc_id",
    "bbox/",
    "bbox/?bboxSR=3857",
    "count/?precise=1",
  ])
    t.same(await get(`${high}/${query}`), await get(`${low}/${query}`), query);
});

t.test("simplified geometry is flat, but for points", async (t) => {
  for (const srid of [4326, 3857]) {
    for (const zoom of [0, 3, 12]) {
      const list = async (code: string) =>
        get(`${code}/objects/?returnGeom=1&geomSR=${srid}&geomZoom=${zoom}&sort=svc_id`);
      const [high, low] = await Promise.all([list("high"), list("low")]);
      t.same(flat(high), low, `zoom ${zoom} in ${srid}`);
      for (const { geom } of high) {
        const position = JSON.stringify(geom)
          .match(/\[(-?[\d.e-]+(,-?[\d.e-]+)+)\]/)![1]!
          .split(",");
        const whole = geom.type === "Point" || geom.type === "MultiPoint";
        t.equal(position.length, whole ? 3 : 2, geom.type);
      }
    }
  }
});

t.test("tiles are the same with heights and without", async (t) => {
  const tile = async (code: string, z: number) => {
    const { id } = await get(`${code}/`);
    const answer = await fetch(tileUrl(server, "m", { lon: 10.5, lat: 50.5, z }, `&base=0&layers=${id}`));
    t.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  };
  for (const z of [2, 5, 8, 11]) t.ok((await tile("high", z)).equals(await tile("low", z)), `zoom ${z}`);
});

t.test("an object has another tag when only a height was changed", async (t) => {
  const id = await add(t, "kinds", spatial.Point);
  const path = `m/layers/kinds/objects/${id}/`;
  const etag = (await api("GET", path)).headers.get("etag")!;
  const body = { fields: {}, geom: { type: "Point", coordinates: [10, 50, 301] } };
  const headers = { "if-match": etag };
  t.equal((await api("PUT", path, { token, body, headers })).status, 200);
  t.equal((await api("PUT", path, { token, body, headers })).status, 412);
});

t.test("imports keep heights, of some features or of all, and say that measures were dropped", async (t) => {
  await layer("imported");
  const geometries = [
    ...Object.values(spatial),
    flat(spatial.Polygon),
    null,
    { type: "Point", coordinates: [] },
  ];
  const data = collection(...geometries.map((geometry, at) => feature({ at }, geometry)));
  const imported = await api("POST", "m/layers/imported/import/", { token, body: data });
  t.equal(imported.status, 200, imported.text);
  const list = await get("imported/objects/?returnGeom=1&sort=svc_id");
  t.same(
    list.map(({ geom }: { geom: unknown }) => geom),
    geometries,
  );
  const exported = await get("imported/export/?format=geojson");
  const again = await api("POST", "m/layers/imported/import/", { token, body: exported });
  t.equal(again.status, 200, again.text);
  t.same(
    await get("imported/objects/?returnGeom=1&sort=svc_id"),
    list,
    "a merge of what was exported changes nothing",
  );
  t.same(await get("imported/export/?format=geojson"), exported);
});

t.test(
  "layers that are made from another one have its heights, and see when only those change",
  async (t) => {
    await layer("source");
    const id = await add(t, "source", spatial.Polygon);
    await add(t, "source", flat(spatial.Polygon));
    for (const type of ["virtual", "material"]) {
      const body = { code: type, type, source: { layer: "source" } };
      t.equal((await api("POST", "m/layers/", { token, body })).status, 200);
      t.same(await get(`${type}/objects/?returnGeom=1`), await get("source/objects/?returnGeom=1"), type);
    }
    const higher = { ...spatial.Polygon, coordinates: [ring(10, 50, 2).map(([x, y, z]) => [x, y, z! + 1])] };
    await api("PUT", `m/layers/source/objects/${id}/geom/`, { token, body: higher });
    t.same(await get(`virtual/objects/${id}/geom/`), higher);
    t.same((await get(`material/objects/${id}/?returnGeom=1`)).geom, spatial.Polygon, "not refreshed");
    t.equal((await api("POST", "m/layers/material/refresh/", { token })).status, 200);
    t.same((await get(`material/objects/${id}/?returnGeom=1`)).geom, higher, "refreshed");
  },
);

t.test("repaired geometry has heights where they can be told", async (t) => {
  await layer("broken");
  const bowtie = {
    type: "Polygon",
    coordinates: [
      [
        [0, 0, 1],
        [2, 2, 2],
        [2, 0, 3],
        [0, 2, 4],
        [0, 0, 1],
      ],
    ],
  };
  const id = await add(t, "broken", bowtie);
  const { id: layerId } = await get("broken/");
  t.same(await get(`broken/objects/${id}/geom/`), bowtie, "nothing is repaired unasked");
  for (const zoom of [1, 20]) {
    const { geom } = await get(`broken/objects/${id}/?returnGeom=1&geomZoom=${zoom}`);
    t.same(geom, flat(geom));
  }
  t.equal((await api("POST", "m/layers/broken/makevalid/", { token })).status, 200);
  const { geom } = await get(`broken/objects/${id}/?returnGeom=1`);
  t.match(geom, { type: "MultiPolygon" });
  for (const position of geom.coordinates.flat(2)) t.equal(position.length, 3);
  await sql.query(`update layers.l${layerId} set geom = st_force3dz(st_force2d(geom), 'NaN')`);
  await sql.query(`update layers.l${layerId} set geom = repaired(geom)`);
  t.equal((await sql.query(`select st_zmflag(geom) as z from layers.l${layerId}`)).rows[0].z, 0);
});

t.test(
  "other SQL clients may write heights; their geometry is projected flat, and must be of our kind",
  async (t) => {
    const { id } = await layer("direct");
    const table = `layers.l${id}`;
    await sql.query(`insert into ${table} (geom) values ('SRID=4326;LINESTRING Z(10 50 1,11 51 2)')`);
    await sql.query(`update ${table} set geom = st_translate(geom, 1, 0, 5)`);
    await sql.query(`update ${table} set geom_3857 = null`);
    const { rows } = await sql.query(
      `select st_astext(geom) as geom, st_equals(geom_3857, st_transform(st_force2d(geom), 3857)) as same,
       st_zmflag(geom_3857) as z from ${table}`,
    );
    t.same(rows, [{ geom: "LINESTRING Z (11 50 6,12 51 7)", same: true, z: 0 }]);
    for (const geom of ["SRID=4326;POINT M(1 2 3)", "SRID=4326;POINT ZM(1 2 3 4)", "SRID=3857;POINT(1 2)"])
      await t.rejects(sql.query(`insert into ${table} (geom) values ($1)`, [geom]), { code: "23514" }, geom);
    await t.rejects(
      sql.query(`insert into ${table} (geom) values ('POINT(1 2)')`),
      "without a reference system",
    );
    const columns =
      "select srid from geometry_columns where f_table_name = $1 and f_geometry_column = 'geom'";
    t.same(
      (await sql.query(columns, [`l${id}`])).rows,
      [{ srid: 4326 }],
      "programs are told the reference system",
    );
  },
);

t.test("a table that is written anew for more columns keeps heights, and what is drawn", async (t) => {
  const { id } = await get("kinds/");
  const held = () => sql.query(`select svc_id, geom, geom_3857 from layers.l${id} order by svc_id`);
  const before = (await held()).rows;
  await sql.query("select rebuild_layer_table($1)", [id]);
  t.same((await held()).rows, before);
  const added = await add(t, "kinds", spatial.LineString);
  t.same(await get(`kinds/objects/${added}/geom/`), spatial.LineString);
});
