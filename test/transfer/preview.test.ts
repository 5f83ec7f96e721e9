import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { startServer } from "../support/server.js";
import { rowsOf, xlsxOf } from "../support/xlsx.js";

/** What a dry run of an import shows of the file. */

const server = await startServer();
const folder = mkdtempSync(join(tmpdir(), "mapwright-preview-"));
t.teardown(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});
const token = await server.token("editor");
await server.api("POST", "", { token: await server.token("admin"), body: { code: "m" } });
await server.api("POST", "m/layers/", { token, body: { code: "a" } });
await server.api("POST", "m/layers/a/structure/", { token, body: { code: "name", type: "string" } });

async function preview(name: string, bytes: Uint8Array | string, query = "") {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/a/import/?dry_run=1${query}`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": name, "content-type": "application/octet-stream" },
    body: bytes as never,
  });
  const { import: done, ...refused } = (await answer.json()) as any;
  return { status: answer.status, refused, ...done };
}

t.test("a table of texts: its encoding, columns with types and codes, values, first rows", async (t) => {
  // "name;Высота;lat;lon" and rows, in windows-1251.
  const text = [
    "name;Высота;lat;lon",
    ...Array.from({ length: 30 }, (_, n) => `Дерево ${n};${n},5;55.${10 + n};37.5`),
  ];
  const bytes = Buffer.from(
    [...text.join("\n")].map((c) => {
      const code = c.charCodeAt(0);
      return code < 128 ? code : code - 0x410 + 0xc0;
    }),
  );
  const { status, preview: shown, dry_run, added } = await preview("trees.csv", bytes);
  t.equal(status, 200);
  t.equal(dry_run, true);
  t.equal(added, 30);
  t.match(shown.layers, [
    {
      name: "trees",
      geometry_type: "Point",
      format: "CSV",
      features: 30,
      encoding: "windows-1251",
      is_read: true,
    },
  ]);
  t.match(shown.columns[0], { name: "name", code: "name", type: "string", is_new: false });
  t.match(shown.columns[1], { name: "Высота", type: "number", is_new: true });
  t.match(shown.columns[0].values[0], /^Дерево 0$/);
  t.equal(shown.features.length, 20);
  t.match(shown.features[0], {
    row: 1,
    fields: { name: "Дерево 0" },
    geom: { type: "Point", coordinates: [37.5, 55.1] },
  });
  t.match(shown.bbox, { sw: [55.1, 37.5], ne: [55.39, 37.5] });
  const again = await preview("trees.csv", bytes, "&encoding=windows-1251");
  t.same(again.preview, shown, "what was guessed can be given back");
});

t.test("each table of a GeoPackage, with its geometry and reference system", async (t) => {
  const path = join(folder, "many.gpkg");
  const dataset = gdal.open(path, "w", "GPKG", 0, 0, 0, gdal.GDT_Unknown);
  for (let n = 0; n < 5; n++) {
    const kind = [gdal.wkbPoint, gdal.wkbLineString, gdal.wkbNone][n % 3]!;
    const layer = dataset.layers.create(`table ${n}`, gdal.SpatialReference.fromEPSG(3857), kind);
    layer.fields.add(new gdal.FieldDefn("n", gdal.OFTInteger));
    if (n === 4) continue;
    const feature = new gdal.Feature(layer);
    feature.fields.set("n", n);
    if (kind === gdal.wkbPoint) feature.setGeometry(gdal.Geometry.fromWKT("POINT (1113194.9079 0)"));
    if (kind === gdal.wkbLineString) feature.setGeometry(gdal.Geometry.fromWKT("LINESTRING (0 0, 10 10)"));
    layer.features.add(feature);
  }
  dataset.close();
  const { status, preview: shown, refused } = await preview("many.gpkg", readFileSync(path));
  t.equal(status, 200, JSON.stringify(refused));
  const byName = [...shown.layers].sort((one, other) => (one.name < other.name ? -1 : 1));
  t.match(byName, [
    {
      name: "table 0",
      format: "GeoPackage",
      geometry_type: "Point",
      features: 1,
      srs: "3857",
      is_read: true,
    },
    { name: "table 1", geometry_type: "LineString", features: 1, is_read: true },
    { name: "table 2", features: 1, is_read: false },
    { name: "table 3", geometry_type: "Point", is_read: true },
    { name: "table 4", features: 0, is_read: false },
  ]);
  t.match(shown.features[0].geom, { type: "Point", coordinates: [10, 0] });
});

t.test("the sheets of a workbook, and a file that is refused", async (t) => {
  const rows = rowsOf([
    ["name", "lat", "lon"],
    ["a", 1, 2],
  ]);
  const other = rowsOf([["what"], ["else"]]);
  const book = await xlsxOf({ sheets: { first: rows, second: rows, third: other, ".hidden": rows } });
  const { preview: shown } = await preview("book.xlsx", book);
  t.match(shown.layers, [
    { name: "first", format: "XLSX", is_read: true },
    { name: "second", is_read: true },
    { name: "third", is_read: false },
    { name: ".hidden", is_read: false },
  ]);
  t.match((await preview("x.geojson", "{")).refused, { code: "import_failed" });
  const { json: count } = await server.api("GET", "m/layers/a/count/?precise=true", { token });
  t.equal(count, 0, "nothing was written");
  const columns = (await server.api("GET", "m/layers/a/structure/", { token })).json;
  t.equal(columns.length, 3, "and no column was added");
});

t.test("a shape of very many vertices is simplified, and a long text cut", async (t) => {
  const ring = Array.from({ length: 4_000 }, (_, n) => {
    const turn = (n / 4_000) * 2 * Math.PI;
    return [Math.cos(turn), Math.sin(turn)];
  });
  const feature = {
    type: "Feature",
    properties: { name: "x".repeat(5_000) },
    geometry: { type: "Polygon", coordinates: [[...ring, ring[0]]] },
  };
  const { preview: shown } = await preview("x.geojson", JSON.stringify(feature));
  const [outline] = shown.features[0].geom.coordinates;
  t.ok(outline.length > 20 && outline.length < 500, `${outline.length} vertices`);
  t.ok(
    outline.every(([x, y]: number[]) => Math.abs(Math.hypot(x!, y!) - 1) < 0.02),
    "it is still the circle",
  );
  t.equal(shown.features[0].fields.name.length, 100);
  t.match(shown.layers, [{ name: "x", geometry_type: "Polygon", format: "GeoJSON", features: 1 }]);
});

t.test("shapes that cannot be simplified are shown by their boxes, and the answer stays small", async (t) => {
  const many = 100_000;
  const zigzag = Array.from({ length: many }, (_, n) => [(n % 2) * 10 + (n % 7) / 10, (n * 7919) % 80]);
  const spread = Array.from({ length: 20_000 }, (_, n) => [(n * 7919) % 170, (n * 104_729) % 80]);
  const squares = spread.slice(0, 3_000).map(([x, y]) => {
    const [west, south, east, north] = [x!, y!, x! + 1e-6, y! + 1e-6];
    return [
      [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south],
      ],
    ];
  });
  const line = { type: "LineString", coordinates: zigzag };
  const shapes = [
    line,
    { type: "MultiPoint", coordinates: spread },
    { type: "MultiPolygon", coordinates: squares },
    { type: "GeometryCollection", geometries: [{ type: "Point", coordinates: [1, 2] }, line] },
    { type: "LineString", coordinates: Array.from({ length: many }, () => [5, 5]) },
    ...Array.from({ length: 30 }, () => ({ type: "MultiPoint", coordinates: spread.slice(0, 500) })),
  ];
  const features = shapes.map((geometry) => ({ type: "Feature", properties: {}, geometry }));
  const { status, preview: shown } = await preview(
    "x.geojson",
    JSON.stringify({ type: "FeatureCollection", features }),
  );
  t.equal(status, 200);
  t.equal(shown.features.length, 20);
  const sizes = shown.features.map(({ geom }: any) => JSON.stringify(geom).length);
  t.ok(Math.max(...sizes) < 20_000, sizes.join());
  t.same(
    shown.features.slice(0, 2).map(({ geom }: any) => geom.type),
    ["Polygon", "Polygon"],
  );
  t.match(shown.features[4].geom, { type: /Point|LineString/ });
});
