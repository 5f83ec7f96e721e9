import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import type { FeatureSource } from "../../workers/transfer/readers/feature-source.js";
import { UnsoundMessage } from "../../workers/transfer/readers/flatbuffer-tables.js";
import { directFeatures } from "../../workers/transfer/readers/flatgeobuf.js";
import { copiedFeatures } from "../../workers/transfer/readers/gdal-copy.js";
import { GdalFeatures } from "../../workers/transfer/readers/gdal-features.js";
import { query } from "../../workers/transfer/readers/gdal-query.js";
import { BadFeature } from "../../workers/transfer/refusal.js";
import { ByteBudget } from "../../workers/transfer/zip-archive.js";
import { type GdalFile, writeGdalFile } from "../support/gdal-files.js";
import { randomNumbers } from "../support/random.js";

/** The ways by which features come from GDAL: that of the binding, and the faster ones, which must give the same. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(folder, { recursive: true }));
let files = 0;

function made(file: GdalFile): string {
  const own = mkdtempSync(join(folder, `${++files}-`));
  writeGdalFile(own, file);
  return join(own, `data.${file.extension}`);
}

interface Opened {
  readonly dataset: gdal.Dataset;
  readonly layer: gdal.Layer;
  readonly path: string;
  readonly driver: string;
  readonly expected: number;
  readonly budget: ByteBudget;
}

async function withLayer<T>(path: string, driver: string, use: (opened: Opened) => T): Promise<T> {
  const dataset = gdal.open(path, "r", driver);
  try {
    const layer = dataset.layers.get(0);
    return use({
      dataset,
      layer,
      path,
      driver,
      expected: layer.features.count(),
      budget: new ByteBudget(1e9),
    });
  } finally {
    dataset.close();
  }
}

/** What a source gives, with times in one notation. */
function all(source: FeatureSource | undefined): unknown[] | undefined {
  if (!source) return undefined;
  const features: unknown[] = [];
  try {
    while (source.next()) {
      const values = source.values().map((value) => (Number.isNaN(value) ? "NaN" : sameTime(value)));
      let geometry: string | undefined;
      try {
        geometry = source.geometry()?.toString("hex");
      } catch (error) {
        if (!(error instanceof BadFeature)) throw error;
        geometry = error.message;
      }
      features.push({ values, geometry });
    }
  } finally {
    source.close();
  }
  return features;
}

const sameTime = (value: unknown): unknown =>
  typeof value === "string" && /^\d{4}[-/]\d\d[-/]\d\d/.test(value)
    ? value
        .replaceAll("/", "-")
        .replace(" ", "T")
        .replace(/T00:00:00$/, "")
        .replace(/Z$/, "+00")
        .replace(/([+-]\d\d):00$/, "$1")
    : value;

const fields = {
  s: gdal.OFTString,
  i: gdal.OFTInteger,
  big: gdal.OFTInteger64,
  r: gdal.OFTReal,
  t: gdal.OFTDateTime,
  d: gdal.OFTDate,
};
const rows = [
  {
    s: 'Ёлки "\n палки',
    i: 7,
    big: "9007199254740993",
    r: 0.1,
    t: "2024-02-29T23:59:58.125+03:00",
    d: "1969-12-31",
  },
  { s: "", i: -2147483648, big: "-9223372036854775807", r: -1e300 },
  { s: "ё".repeat(100), big: "-1", r: 5e-324, t: "2024-01-01T00:00:00+00:00" },
  {},
  { s: "x\u0001😀", i: 0, big: "4294967296", r: 123456789.12345679 },
];
const shapes: Readonly<Record<string, readonly string[]>> = {
  points: ["POINT (1 2)", "POINT (-180 90)", "POINT (0.1 -0.3)", "POINT (1e300 5)", "POINT (-0 7)"],
  polygons: [
    "POLYGON ((0 0,1 0,1 1,0 0))",
    "POLYGON ((0 0,9 0,9 9,0 0),(5 1,6 1,6 2,5 1),(7 1,8 1,8 2,7 1))",
    "MULTIPOLYGON (((0 0,1 0,1 1,0 0)),((5 5,9 5,9 9,5 5),(6 5.5,7 5.5,7 6,6 5.5)))",
    "POLYGON ((170 10,190 10,190 20,170 20,170 10))",
    "MULTIPOLYGON (((0 0,1 0,1 1,0 0)))",
  ],
  lines: [
    "LINESTRING (0 0,1 1)",
    "MULTILINESTRING ((0 0,1 1),(2 2,3 3,4 5))",
    "LINESTRING (0 0,1 1,0 0)",
    "MULTILINESTRING ((0 0,1 1))",
    "LINESTRING (3 3,4 4)",
  ],
  mixed: [
    "POINT (1 2)",
    "GEOMETRYCOLLECTION (POINT (1 2),MULTIPOINT ((1 2),(3 4)),POLYGON ((0 0,1 0,1 1,0 0)))",
    "MULTIPOINT ((1 2),(3 4))",
    "LINESTRING (0 0,1 1)",
    "POLYGON ((0 0,1 0,1 1,0 0))",
  ],
};
/** Fields that the driver has. */
const fieldsOf = (driver: string): Record<string, string> => {
  const { t, big, ...others } = fields;
  if (driver === "MapInfo File") return { ...others, t };
  return driver === "ESRI Shapefile" ? { ...others, big } : { ...others, t, big };
};

function sample(driver: string, extension: string, kind: string): GdalFile {
  const own = fieldsOf(driver);
  const valuesOf = (index: number) =>
    Object.fromEntries(Object.entries(rows[index]!).filter(([name]) => name in own));
  const features = shapes[kind]!.map((wkt, index) => ({ wkt, values: valuesOf(index) }));
  const types: Record<string, number> = {
    points: gdal.wkbPoint,
    polygons: gdal.wkbPolygon,
    lines: gdal.wkbLineString,
  };
  const geometryType = driver === "ESRI Shapefile" || kind === "points" ? types[kind]! : gdal.wkbUnknown;
  const options = driver === "ESRI Shapefile" ? ["ENCODING=UTF-8"] : [];
  return { driver, extension, fields: own, features, geometryType, options };
}

const drivers = {
  GPKG: "gpkg",
  "MapInfo File": "tab",
  GML: "gml",
  "ESRI Shapefile": "shp",
  FlatGeobuf: "fgb",
};

t.test("a copy gives the features as the binding does", async (t) => {
  for (const [driver, extension] of Object.entries(drivers)) {
    for (const kind of Object.keys(shapes)) {
      if (extension === "shp" && kind === "mixed") continue;
      await withLayer(made(sample(driver, extension, kind)), driver, (opened) => {
        const copied = all(copiedFeatures(opened));
        // Such a layer of GML may have heights here and there.
        if (extension === "gml" && opened.layer.geomType === gdal.wkbUnknown) t.equal(copied, undefined);
        else t.same(copied, all(new GdalFeatures(opened.dataset, opened.layer)), `${extension}, ${kind}`);
        t.notOk(existsSync(join(dirname(opened.path), "features.fgb")));
      });
    }
  }
});

t.test("a copy of a GeoPackage has empty geometries, heights and curves", async (t) => {
  const geometries = [
    "POINT Z (1 2 3)",
    "POINT (1 2)",
    "LINESTRING EMPTY",
    "POLYGON EMPTY",
    "MULTIPOINT EMPTY",
  ]
    .concat("LINESTRING M (1 2 5,3 4 6)", "GEOMETRYCOLLECTION (POINT (1 2),LINESTRING EMPTY)", "POINT EMPTY")
    .concat("POLYGON ZM ((0 0 1 5,1 0 2 5,1 1 3 5,0 0 1 5))");
  const features = [{}, ...geometries.map((wkt) => ({ wkt })), {}];
  const path = made({ driver: "GPKG", extension: "gpkg", features, geometryType: gdal.wkbUnknown });
  await withLayer(path, "GPKG", (opened) => {
    const copied = all(copiedFeatures(opened));
    t.equal(copied?.length, features.length);
    t.same(copied, all(new GdalFeatures(opened.dataset, opened.layer)));
  });
});

t.test("a copy has the heights of layers that have them everywhere", async (t) => {
  const wkts = [
    "POLYGON Z ((0 0 1,1 1 3,1 0 2,0 0 1))",
    "MULTIPOLYGON Z (((0 0 1,1 1 3,1 0 2,0 0 1)),((5 0 1,6 1 3,6 0 0,5 0 1)))",
  ];
  const fields = { d: gdal.OFTDate };
  const features = wkts.map((wkt) => ({ wkt, values: { d: "2024-02-29" } }));
  for (const [driver, extension] of [
    ["ESRI Shapefile", "shp"],
    ["FlatGeobuf", "fgb"],
  ] as const) {
    const geometryType = extension === "shp" ? gdal.wkbPolygon25D : gdal.wkbUnknown + gdal.wkb25DBit;
    const path = made({ driver, extension, fields, features, geometryType });
    await withLayer(path, driver, (opened) =>
      t.same(all(copiedFeatures(opened)), all(new GdalFeatures(opened.dataset, opened.layer)), driver),
    );
  }
});

t.test("what a copy cannot hold is read without one", async (t) => {
  const none = async (file: GdalFile, name: string) =>
    withLayer(made(file), file.driver, (opened) => t.equal(copiedFeatures(opened), undefined, name));
  const points = sample("ESRI Shapefile", "shp", "points");
  await none({ ...points, features: [...points.features, {}] }, "no geometry");
  await none(
    { ...points, geometryType: 3001, features: [{ wkt: "POINT ZM (1 2 3 4)" }], options: [] },
    "measures",
  );
  await none(
    { driver: "GPKG", extension: "gpkg", fields: { b: gdal.OFTBinary }, features: [{ wkt: "POINT (1 2)" }] },
    "bytes",
  );
  await withLayer(made(points), points.driver, (opened) => {
    t.equal(copiedFeatures({ ...opened, budget: new ByteBudget(1_000) }), undefined, "no room");
  });
});

t.test("FlatGeobuf is read as the binding reads it", async (t) => {
  const { t: _, d: __, ...plain } = fields;
  for (const [kind, wkts] of Object.entries(shapes)) {
    const features = wkts.map((wkt, index) => ({
      wkt,
      values: Object.fromEntries(Object.entries(rows[index]!).filter(([name]) => name in plain)),
    }));
    const file = {
      driver: "FlatGeobuf",
      extension: "fgb",
      fields: plain,
      features,
      geometryType: gdal.wkbUnknown,
    };
    for (const options of [["SPATIAL_INDEX=NO"], ["SPATIAL_INDEX=YES"]]) {
      await withLayer(made({ ...file, options }), "FlatGeobuf", ({ dataset, layer, path, expected }) => {
        t.same(all(directFeatures(layer, path, expected)), all(new GdalFeatures(dataset, layer)), kind);
      });
    }
  }
  const features = [
    { wkt: "LINESTRING ZM (1 2 3 4,5 6 7 8)" },
    { wkt: "LINESTRING ZM (1 2 3 4,5 6 7 8,9 1 2 3)" },
  ];
  const heights = made({ driver: "FlatGeobuf", extension: "fgb", features, geometryType: 3002 });
  await withLayer(heights, "FlatGeobuf", ({ dataset, layer, path, expected }) => {
    t.same(all(directFeatures(layer, path, expected)), all(new GdalFeatures(dataset, layer)));
  });
});

t.test("damaged FlatGeobuf is noticed", async (t) => {
  const { t: _, d: __, ...plain } = fields;
  const features = Object.values(shapes).flatMap((wkts) =>
    wkts.map((wkt) => ({ wkt, values: { s: "имя", i: 1, r: 2 } })),
  );
  const path = made({
    driver: "FlatGeobuf",
    extension: "fgb",
    fields: plain,
    features,
    geometryType: gdal.wkbUnknown,
  });
  const bytes = readFileSync(path);
  const random = randomNumbers(90_210);
  let noticed = 0;
  await withLayer(path, "FlatGeobuf", ({ layer, expected }) => {
    const damaged = `${path}.damaged`;
    for (let round = 0; round < 1_000; round++) {
      const copy = Buffer.from(bytes);
      for (let changes = 1 + (random() % 3); changes > 0; changes--)
        copy[random() % copy.length] = [0, 0xff, 0x7f, 0x80, random() % 256][random() % 5]!;
      writeFileSync(damaged, round % 4 === 0 ? copy.subarray(0, random() % copy.length) : copy);
      try {
        if (all(directFeatures(layer, damaged, expected)) === undefined) noticed++;
      } catch (error) {
        if (!(error instanceof UnsoundMessage)) throw error;
        noticed++;
      }
    }
  });
  t.ok(noticed > 300, `${noticed} of 1000`);
});

t.test("results of SQL do not block the process when they are garbage", async (t) => {
  const features = Array.from({ length: 2_000 }, (_, n) => ({
    wkt: `POINT (${n % 90} 1)`,
    values: { a: n, b: "x" },
  }));
  const fields = { a: gdal.OFTInteger, b: gdal.OFTString };
  const dataset = gdal.open(made({ driver: "GPKG", extension: "gpkg", fields, features }));
  let read = 0;
  dataset.layers.get(0).features.forEach((feature) => {
    feature.fields.toArray();
    feature.getGeometry();
    if (read++ % 8 === 0)
      query(dataset, "pragma table_info(data)").features.forEach(({ fields }) => void fields.toArray());
  });
  dataset.close();
  t.equal(read, features.length);
});
