import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import gdal from "gdal-async";
import t from "tap";
import { newReference } from "../../workers/transfer/srs-objects.js";
import { type GdalFile, writeGdalFile } from "../support/gdal-files.js";
import { failureOf, importBench } from "../support/transfer.js";
import { smallWorkbook } from "../support/xls.js";
import { zipOf } from "../support/zip.js";

/** Values and geometries of files that GDAL reads, as they come into a layer. */

const bench = await importBench();
t.teardown(() => bench.stop());

/** Writes the file and returns its main part. */
function made(file: GdalFile): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  try {
    return writeGdalFile(folder, file)[`data.${file.extension}`]!;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const fields = {
  текст: gdal.OFTString,
  i: gdal.OFTInteger,
  big: gdal.OFTInteger64,
  r: gdal.OFTReal,
  t: gdal.OFTDateTime,
  d: gdal.OFTDate,
};
const long = "ё".repeat(400);
const values = {
  текст: 'Ёлки "\n палки',
  i: 7,
  big: "9007199254740993",
  r: 0.1,
  t: "2024-02-29T23:59:58.125+03:00",
  d: "1969-12-31",
};
const polygon = "POLYGON ((170 10,190 10,190 20,170 20,170 10),(175 12,180 12,180 14,175 14,175 12))";

t.test("every value comes as it is in the file", async (t) => {
  for (const [driver, extension] of [
    ["GPKG", "gpkg"],
    ["FlatGeobuf", "fgb"],
    ["GML", "gml"],
  ] as const) {
    const layer = await bench.layer();
    const features = [
      { values, wkt: polygon },
      { values: { текст: long, big: "12", i: 2 }, wkt: "POLYGON ((0 0,1 0,1 1,0 0))" },
      { values: { текст: "[1]", i: 1 }, wkt: "POLYGON ((0 0,1 0,1 1,0 0))" },
    ];
    const file = made({ driver, extension, fields, features, geometryType: gdal.wkbPolygon });
    const { notes } = await bench.import(layer, file, { extension });
    if (extension === "fgb") t.match(notes, [/read to the millisecond/]);
    else t.same(notes, [], extension);
    const objects = (await bench.objects(layer)).sort((a, b) => Number(a.i) - Number(b.i));
    t.match(
      objects,
      [
        { tekst: "[1]", i: 1, big: null, r: null, t: null, d: null },
        { tekst: long, i: 2, big: "12" },
        {
          tekst: values.текст,
          i: 7,
          big: "9007199254740993",
          r: 0.1,
          t: "2024-02-29T20:59:58.125+00:00",
          d: "1969-12-31T00:00:00+00:00",
        },
      ],
      extension,
    );
    t.equal(objects[2]!.geom, polygon.replace("POLYGON ((", "POLYGON(("), extension);
  }
});

t.test("every geometry comes as it is in the file", async (t) => {
  const geometries = [
    "POINT(1 2)",
    "POINT Z (1 2 3)",
    "MULTIPOINT((1 2),(3 4))",
    "LINESTRING(1 2,3 4)",
    "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,9 5,9 9,5 5),(6 5.5,7 5.5,7 6,6 5.5)))",
    "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4))",
    "LINESTRING EMPTY",
  ];
  const file = made({
    driver: "GPKG",
    extension: "gpkg",
    geometryType: gdal.wkbUnknown,
    features: [...geometries.map((wkt) => ({ wkt })), {}, { wkt: "LINESTRING M (1 2 5,3 4 6)" }],
  });
  const layer = await bench.layer();
  const { notes } = await bench.import(layer, file, { extension: "gpkg" });
  t.same(
    (await bench.objects(layer)).map(({ geom }) => geom),
    [...geometries, null, "LINESTRING(1 2,3 4)"],
  );
  t.match(notes, [/measures/]);
});

t.test("a layer of curves comes as lines", async (t) => {
  const curve =
    '<gml:Curve srsName="EPSG:4326"><gml:segments><gml:ArcString><gml:posList>0 0 1 1 0 2</gml:posList></gml:ArcString></gml:segments></gml:Curve>';
  const file = `<?xml version="1.0"?><c:C xmlns:c="urn:c" xmlns:gml="http://www.opengis.net/gml/3.2"><c:member>
    <c:f><c:big>9007199254740993</c:big><c:shape>${curve}</c:shape></c:f></c:member></c:C>`;
  const layer = await bench.layer();
  const { notes } = await bench.import(layer, file, { extension: "gml" });
  t.match(notes, [/Curves/]);
  t.match(await bench.objects(layer), [{ big: "9007199254740993", geom: /^LINESTRING\(0 0,.{500}/ }]);
});

t.test("curves among other geometries are refused by their row", async (t) => {
  const file = made({
    driver: "GPKG",
    extension: "gpkg",
    geometryType: gdal.wkbUnknown,
    features: [{ wkt: "POINT (1 2)" }, { wkt: "CIRCULARSTRING (0 0,1 1,2 0)" }],
  });
  t.match(await failureOf(bench.import(await bench.layer(), file, { extension: "gpkg" })), {
    code: "invalid_geometry",
    data: { feature: 2, rows: [{ row: 2, reason: /curve/ }] },
  });
});

t.test("coordinates are transformed from the file's own reference system", async (t) => {
  for (const epsg of [3857, 32637, 27700]) {
    const target = newReference(() => gdal.SpatialReference.fromEPSG(epsg));
    const place = gdal.Geometry.fromWKT(epsg === 27700 ? "POINT (-1 52)" : "POINT (38 55)");
    const source = newReference(() => gdal.SpatialReference.fromProj4("+proj=longlat +datum=WGS84 +no_defs"));
    place.transform(new gdal.CoordinateTransformation(source, target));
    for (const [driver, extension] of [
      ["GPKG", "gpkg"],
      ["FlatGeobuf", "fgb"],
      ["GML", "gml"],
    ] as const) {
      const layer = await bench.layer();
      await bench.import(layer, made({ driver, extension, epsg, features: [{ wkt: place.toWKT() }] }), {
        extension,
      });
      const [object] = await bench.objects(layer);
      const [x, y] = String(object!.geom)
        .match(/-?[\d.]+/g)!
        .map(Number);
      const [lon, lat] = epsg === 27700 ? [-1, 52] : [38, 55];
      t.ok(
        Math.abs(x! - lon!) < 1e-6 && Math.abs(y! - lat!) < 1e-6,
        `${extension}, ${epsg}: ${object!.geom}`,
      );
    }
  }
});

t.test("a file that is cut off is refused, not read in part", async (t) => {
  const features = Array.from({ length: 500 }, (_, n) => ({ values: { i: n }, wkt: `POINT (${n / 10} 1)` }));
  for (const [driver, extension] of [
    ["GPKG", "gpkg"],
    ["FlatGeobuf", "fgb"],
    ["GML", "gml"],
    ["ESRI Shapefile", "shp"],
  ] as const) {
    const file = made({ driver, extension, fields: { i: gdal.OFTInteger }, features });
    for (const part of [0.5, 0.9, 0.99]) {
      const cut = file.subarray(0, Math.floor(file.length * part));
      const { code } = await failureOf(bench.import(await bench.layer(), cut, { extension }));
      t.equal(code, "import_failed", `${extension}, ${part}`);
    }
  }
});

t.test(
  "rows that are marked as deleted are left out, as programs leave them until a table is packed",
  async (t) => {
    const features = [0, 1, 2, 3, 4].map((n) => ({ values: { n }, wkt: `POINT (${n} ${n})` }));
    /** The files with the third row marked as deleted. */
    const marked = (driver: string, extension: string, table: string) => {
      const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
      const files = writeGdalFile(folder, { driver, extension, fields: { n: gdal.OFTInteger }, features });
      rmSync(folder, { recursive: true });
      const rows = files[`data.${table}`]!;
      rows[rows.readUInt16LE(8) + 2 * rows.readUInt16LE(10)] = 0x2a;
      return files;
    };
    const layer = await bench.layer();
    const zip = await zipOf(marked("ESRI Shapefile", "shp", "dbf"));
    t.match(await bench.import(layer, zip, { extension: "zip" }), { inserted: 4, notes: [] });
    t.same(
      (await bench.objects(layer)).map(({ n, geom }) => [n, geom]),
      [0, 1, 3, 4].map((n) => [n, `POINT(${n} ${n})`]),
    );
    // A table of MapInfo has them out of its other files too; else GDAL would end there.
    const table = bench.import(layer, await zipOf(marked("MapInfo File", "tab", "dat")), {
      extension: "zip",
    });
    t.match((await failureOf(table)).message, /damaged: only 2 of the 4 features/);
  },
);

t.test("a DXF file without its end is imported with a warning", async (t) => {
  const file = made({
    driver: "DXF",
    extension: "dxf",
    features: [{ wkt: "POINT (1 2)" }, { wkt: "LINESTRING (1 2,3 4)" }],
  });
  const whole = await bench.import(await bench.layer(), file, { extension: "dxf" });
  t.same(whole.notes, []);
  const end = file.lastIndexOf("ENDSEC");
  const cut = await bench.import(await bench.layer(), file.subarray(0, end - 10), { extension: "dxf" });
  t.match(cut.notes, [/cut off/]);
});

t.test("Gauss-Kruger coordinates are shifted to WGS 84", async (t) => {
  // Without an EPSG number, as ESRI's .prj files have it.
  const zone =
    "+proj=tmerc +lat_0=0 +lon_0=39 +k=1 +x_0=7500000 +y_0=0 +ellps=krass +towgs84=23.57,-140.95,-79.8,0,0.35,0.79,-0.22 +units=m +no_defs";
  const layer = await bench.layer();
  await bench.import(layer, { type: "Point", coordinates: [7436194.99, 6097564.87] }, { srs: zone });
  const [x, y] = String((await bench.objects(layer))[0]!.geom)
    .match(/-?[\d.]+/g)!
    .map(Number);
  t.ok(Math.abs(x! - 38) < 0.01 && Math.abs(y! - 55) < 0.01, `${x} ${y}`);
});

t.test("a workbook's sheet is read with its coordinates, types and texts", async (t) => {
  const layer = await bench.layer();
  const content = readFileSync(
    join(dirname(fileURLToPath(import.meta.url)), "../../../test/fixtures/cities.xls"),
  );
  const { rows, notes } = await bench.import(layer, content, { extension: "xls" });
  t.equal(rows, 63);
  t.match(notes.join(), /"Долгота" \(east\) and "Широта" \(north\)/);
  const [first, , third] = await bench.objects(layer);
  t.match(Object.values(first!), [
    1,
    "Москва",
    "007",
    1.5,
    "2024-02-29T00:00:00+00:00",
    1,
    "POINT(37.61 55.75)",
  ]);
  t.match(Object.values(third!), [3, "нигде", null, null, null, null, null]);
  const damaged = content.subarray(0, 5000);
  t.match(await failureOf(bench.import(layer, damaged, { extension: "xls" })), { code: "import_failed" });
});

t.test("a workbook is read whose stream is so small that it lies among others", async (t) => {
  const file = smallWorkbook([
    ["имя", "n"],
    ["ёлка", 1.5],
    ["сосна", 1e15],
  ]);
  const layer = await bench.layer();
  const { rows } = await bench.import(layer, file, { extension: "xls" });
  t.equal(rows, 2);
  const found = await bench.objects(layer);
  t.same(
    found.map((object) => Object.values(object).slice(1, 3)),
    [
      ["ёлка", 1.5],
      ["сосна", 1e15],
    ],
  );
  for (const end of [600, 1_100, 2_000, file.length - 1_000])
    t.match(
      await failureOf(bench.import(await bench.layer(), file.subarray(0, end), { extension: "xls" })),
      { code: "import_failed" },
      `cut at ${end}`,
    );
  // Sizes that there are not, by which few bytes would become a list of any length.
  const odd = Buffer.from(file);
  odd.writeUInt16LE(0, 32);
  odd.writeUInt32LE(0xffffffff, 56);
  odd.writeUInt32LE(0xfffffff0, 512 * 2 + 128 + 120);
  odd.writeUInt32LE(0, 512 * 3);
  odd.writeUInt32LE(0, 512 * 2 + 128 + 116);
  t.match(await failureOf(bench.import(await bench.layer(), odd, { extension: "xls" })), {
    code: "import_failed",
  });
  // Sectors that go round in a circle.
  const round = Buffer.from(file);
  round.writeUInt32LE(3, 512 + 4 * 3);
  t.match(await failureOf(bench.import(await bench.layer(), round, { extension: "xls" })), {
    code: "import_failed",
  });
});
