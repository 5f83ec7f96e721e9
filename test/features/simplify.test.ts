import t from "tap";
import { type GeometryShape, geometryJson } from "../../src/features/geometry-sql.js";
import { makeFeatures } from "./support.js";

const { db, table, close } = await makeFeatures([]);
t.teardown(close);

const zigzag = Array.from({ length: 2000 }, (_, i) => `${10 + i / 1000} ${50 + (i % 2) / 10000}`).join(",");
const shapes: Record<string, string> = {
  point: "POINT(10 50)",
  multipoint: "MULTIPOINT(10 50,11 51)",
  line: `LINESTRING(${zigzag})`,
  "closed tiny line": "LINESTRING(10 50,10.000001 50,10.000001 50.000001,10 50)",
  "line without length": "LINESTRING(10 50,10 50)",
  multiline: `MULTILINESTRING((0 0,1 1),(${zigzag}))`,
  polygon: `POLYGON((10 50,${zigzag},12 40,10 50))`,
  "tiny polygon": "POLYGON((10 50,10.00001 50,10.00001 50.00001,10 50.00001,10 50))",
  "polygon with a hole": "POLYGON((0 0,1 0,1 1,0 1,0 0),(0.1 0.1,0.9 0.1,0.9 0.9,0.1 0.9,0.1 0.1))",
  multipolygon: "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((1.0001 0.9,2 0,2 2,1.0001 0.9)))",
  "polygon that crosses itself": "POLYGON((0 0,1 1,1 0,0 1,0 0))",
  "polygon without area": "POLYGON((0 0,1 1,2 2,0 0))",
  antarctica: "POLYGON((-180 -90,180 -90,180 -70,0 -75,-180 -70,-180 -90))",
  "beyond the projection": "POLYGON((0 86,1 86,1 87,0 87,0 86))",
  "collection in a collection":
    "GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(LINESTRING(0 0,1 1,2 0),POINT(5 5)),POINT(1 1))",
  collection: "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1,2 0),POLYGON((0 0,1 0,1 1,0 0)))",
};
for (const text of Object.values(shapes))
  await db.execute(`insert into ${table} (geom) values ($1::geometry)`, [`SRID=4326;${text}`]);
const names = Object.keys(shapes);

async function geometries(shape: GeometryShape) {
  return db.query<{ g: string; valid: boolean; empty: boolean; points: number; type: string; apart: number }>(
    `select g, st_isvalid(s) as valid, st_isempty(s) as empty, st_npoints(s) as points, st_geometrytype(s) as type,
       st_distance(st_setsrid(s, 4326), geom) as apart
     from (select geom, svc_id, g, st_geomfromgeojson(nullif(g, 'null')) as s
       from (select svc_id, geom, ${geometryJson(shape)} as g from ${table} offset 0) x) y order by svc_id`,
  );
}

t.test("a simplified geometry is never empty, and valid", async (t) => {
  for (const srid of [4326, 3857] as const) {
    for (const zoom of [0, 5, 12, 22, 30]) {
      const rows = await geometries({ srid, zoom });
      for (const [index, row] of rows.entries()) {
        const name = `${names[index]} in ${srid} at zoom ${zoom}`;
        if (srid === 3857 && names[index] === "beyond the projection") t.equal(row.g, "null", name);
        else t.match(row, { empty: false, valid: true }, name);
      }
    }
  }
});

t.test("simplification drops vertices by zoom and keeps those that show", async (t) => {
  const at = async (zoom: number) =>
    (await geometries({ srid: 4326, zoom }))[names.indexOf("line")]?.points ?? 0;
  t.ok((await at(4)) < 10);
  t.equal(await at(20), 2000);
});

t.test("a centroid is a point on its object", async (t) => {
  const rows = await geometries({ srid: 4326, centroid: true });
  for (const [index, row] of rows.entries()) {
    t.match(row, { type: "ST_Point", empty: false }, `${names[index]}`);
    t.ok(row.apart < 1e-9, `${names[index]}`);
  }
  const middle = JSON.parse(rows[names.indexOf("multiline")]?.g ?? "");
  t.ok(Math.abs(middle.coordinates[0] - 10.9995) < 0.001, "the midpoint of the longest part");
});
