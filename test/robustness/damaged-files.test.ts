import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import gdal from "gdal-async";
import { parquetWriteBuffer } from "hyparquet-writer";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { randomNumbers } from "../support/random.js";
import { failureOf, feature, importBench, point } from "../support/transfer.js";
import { rowsOf, xlsxOf } from "../support/xlsx.js";
import { zipOf } from "../support/zip.js";

/** Files of geodata that are damaged, or lie about sizes: each import succeeds or fails, and nothing else happens. */

const bench = await importBench();
t.teardown(() => bench.stop());
const tempDir = join(bench.deps.config.dataDir, "tmp");
type Files = Readonly<Record<string, Buffer>>;

/** Files of one dataset, by name. */
function written(driver: string, extension: string): Files {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  const fields: Record<string, string> = driver === "DXF" ? {} : { name: gdal.OFTString, n: gdal.OFTReal };
  const features = Array.from({ length: 20 }, (_, n) => ({
    values: driver === "DXF" ? {} : { name: `имя ${n}`, n: n / 3 },
    wkt: `POLYGON ((${n} 0,${n} 5,${n + 1} 5,${n} 0))`,
  }));
  try {
    return writeGdalFile(folder, { driver, extension, fields, features, geometryType: gdal.wkbPolygon });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Imports the files into a layer that has an object. @returns the code of the failure, or "none" */
async function outcome(files: Files): Promise<string> {
  const list = Object.entries(files).map(([name, content]) => ({
    path: bench.file(content, name.split(".").pop()),
    name,
  }));
  const source = { files: list, action: "replace" } as const;
  const { code } = await failureOf(importIntoLayer(bench.deps, { layerId: layer, language: "en" }, source));
  for (const { path } of list) rmSync(path);
  return String(code);
}

const layer = await bench.layer();
const good = Buffer.from(JSON.stringify(feature({ a: 1 })));
await outcome({ "a.geojson": good });

const shapefile = written("ESRI Shapefile", "shp");
const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${"<Placemark><name>a</name><Point><coordinates>1,2</coordinates></Point></Placemark>".repeat(20)}</Document></kml>`;
const lines = Array.from({ length: 20 }, (_, n) => JSON.stringify(feature({ n, b: "x" }, point(n, 1)))).join(
  "\n",
);
const one = (extension: string, content: string | Buffer): Files => ({
  [`data.${extension}`]: Buffer.from(content as Buffer),
});
const fixture = (name: string) =>
  readFileSync(join(dirname(fileURLToPath(import.meta.url)), "../../../test/fixtures", name));

const samples: readonly Files[] = [
  shapefile,
  written("MapInfo File", "tab"),
  written("MapInfo File", "mif"),
  written("GPKG", "gpkg"),
  written("FlatGeobuf", "fgb"),
  one("gml", written("GML", "gml")["data.gml"]!),
  one("dxf", written("DXF", "dxf")["data.dxf"]!),
  one("xls", fixture("cities.xls")),
  one("parquet", fixture("arrow.parquet")),
  one("kml", kml),
  one("kmz", await zipOf({ "doc.kml": kml })),
  one("gpx", `<gpx>${'<wpt lat="1" lon="2"><name>a</name></wpt>'.repeat(20)}</gpx>`),
  one(
    "xlsx",
    await xlsxOf({
      sheets: {
        a: rowsOf([
          ["lon", "lat"],
          [1, 2],
          [3, 4],
        ]),
      },
    }),
  ),
  one("geojsonl", lines),
  one("csv", `lon;lat;имя\n${'1,5;2;"a\nb"\n'.repeat(20)}`),
  one("parquet", Buffer.from(parquetWriteBuffer({ columnData: [{ name: "lon", data: [1, 2] }] }))),
];
/** Of each sample. */
const damages = 8;

t.test("damaged files of every format fail alone", async (t) => {
  const random = randomNumbers(7_120_033);
  const counts: Record<string, number> = {};
  const slow: string[] = [];
  for (const files of samples) {
    const names = Object.keys(files);
    for (let round = 0; round < damages; round++) {
      const name = names[random() % names.length]!;
      const bytes = Buffer.from(files[name]!);
      if (bytes.length === 0) continue;
      // Headers tell sizes and offsets.
      const reach = round % 2 === 0 ? Math.min(bytes.length, 150) : bytes.length;
      for (let changes = 1 + (random() % 4); changes > 0; changes--)
        bytes[random() % reach] = [0, 0xff, 0x7f, 0x80, random() % 256][random() % 5]!;
      const damaged = round % 5 === 4 ? bytes.subarray(0, random() % bytes.length) : bytes;
      const started = performance.now();
      const code = await outcome({ ...files, [name]: Buffer.from(damaged) });
      if (performance.now() - started > 10_000) slow.push(name);
      counts[code] = (counts[code] ?? 0) + 1;
      t.match(code, /^(none|import_failed|invalid_geometry|no_georeference|unsupported_format)$/, name);
    }
  }
  t.ok((counts.import_failed ?? 0) > 10 && (counts.none ?? 0) > 10, JSON.stringify(counts));
  t.same(slow, []);
  t.same(readdirSync(tempDir), []);
  t.equal(await outcome({ "a.geojson": good }), "none", "the next import works");
});

/** The file with numbers written into it. */
function lying(files: Files, name: string, write: (bytes: Buffer) => void): Files {
  const bytes = Buffer.from(files[name]!);
  write(bytes);
  return { ...files, [name]: bytes };
}
const most = 0x7fffffff;
const mif = written("MapInfo File", "mif");
const mifText = mif["data.mif"]!.toString("latin1");
const inMif = (from: RegExp, to: string): Files => ({
  ...mif,
  "data.mif": Buffer.from(mifText.replace(from, to), "latin1"),
});
const fgb = written("FlatGeobuf", "fgb");

/** Blocks that insert the block before them some times, and some of them in the drawing. */
function dxfBlocks(levels: number, times = 10, drawn: readonly number[] = [levels]): string {
  const group = (...pairs: readonly (string | number)[]) => `${pairs.join("\n")}\n`;
  const insert = (name: string) => group(0, "INSERT", 8, "0", 2, name, 10, 1, 20, 1);
  const block = (name: string, content: string) =>
    group(0, "BLOCK", 8, "0", 2, name, 70, 0, 10, 0, 20, 0) + content + group(0, "ENDBLK", 8, "0");
  const blocks = Array.from({ length: levels }, (_, level) =>
    block(`b${level + 1}`, insert(`b${level}`).repeat(times)),
  );
  const first = block("b0", group(0, "POINT", 8, "0", 10, 1, 20, 2));
  return (
    group(0, "SECTION", 2, "HEADER", 0, "ENDSEC", 0, "SECTION", 2, "TABLES", 0, "ENDSEC") +
    group(0, "SECTION", 2, "BLOCKS") +
    first +
    blocks.join("") +
    group(0, "ENDSEC", 0, "SECTION", 2, "ENTITIES") +
    drawn.map((level) => insert(`b${level}`)).join("") +
    group(0, "ENDSEC", 0, "EOF")
  );
}
const dxfArray = (rows: number) =>
  dxfBlocks(0).replace(
    "2\nb0\n10\n1\n20\n1\n0\nENDSEC",
    `2\nb0\n10\n1\n20\n1\n70\n${rows}\n71\n${rows}\n44\n1\n45\n1\n0\nENDSEC`,
  );

const nested = (open: string, times: number, close: string): string =>
  `<kml xmlns="http://www.opengis.net/kml/2.2">${open.repeat(times)}${close.repeat(times)}</kml>`;

/** With the outcome where it may be one only. */
const lies: readonly (readonly [string, Files, string?])[] = [
  ["a DBF of 2 billion records", lying(shapefile, "data.dbf", (b) => b.writeUInt32LE(most, 4))],
  ["a DBF with a header longer than itself", lying(shapefile, "data.dbf", (b) => b.writeUInt16LE(65_535, 8))],
  ["a DBF of records of one byte", lying(shapefile, "data.dbf", (b) => b.writeUInt16LE(1, 10))],
  ["a DBF of records of 64 kB", lying(shapefile, "data.dbf", (b) => b.writeUInt16LE(65_535, 10))],
  ["a DBF of wide fields", lying(shapefile, "data.dbf", (b) => b.writeUInt8(255, 48))],
  ["an SHP of 4 GB", lying(shapefile, "data.shp", (b) => b.writeInt32BE(most, 24))],
  ["a shape of 4 GB", lying(shapefile, "data.shp", (b) => b.writeInt32BE(most, 104))],
  [
    "a shape of 2 billion parts",
    lying(shapefile, "data.shp", (b) => b.writeInt32LE(most, 144)),
    "invalid_geometry",
  ],
  [
    "a shape of 2 billion positions",
    lying(shapefile, "data.shp", (b) => b.writeInt32LE(most, 148)),
    "invalid_geometry",
  ],
  [
    "a shape of −1 positions",
    lying(shapefile, "data.shp", (b) => b.writeInt32LE(-1, 148)),
    "invalid_geometry",
  ],
  // GDAL makes another index then.
  ["an SHX that points beyond", lying(shapefile, "data.shx", (b) => b.writeInt32BE(most, 100)), "none"],
  ["an SHX of shapes of 4 GB", lying(shapefile, "data.shx", (b) => b.writeInt32BE(most, 104)), "none"],
  ["an SHX of 4 GB", lying(shapefile, "data.shx", (b) => b.writeInt32BE(most, 24))],
  [
    "a PRJ of brackets",
    { ...shapefile, "data.prj": Buffer.from(`GEOGCS["x",${"A[".repeat(500_000)}`) },
    "import_failed",
  ],
  ["a PRJ of other text", { ...shapefile, "data.prj": Buffer.from("degrees, I think") }, "import_failed"],
  ["a PRJ of a megabyte", { ...shapefile, "data.prj": Buffer.from(`GEOGCS["${"x".repeat(1_000_000)}"]`) }],
  [
    "a PRJ that names a file",
    {
      ...shapefile,
      "data.prj": Buffer.from('GEOGCS["x",EXTENSION["PROJ4_GRIDS","/etc/passwd"],UNIT["degree",0.017]]'),
    },
  ],
  ["a PRJ of nothing", { ...shapefile, "data.prj": Buffer.alloc(100) }, "none"],
  ["a CPG of a path", { ...shapefile, "data.cpg": Buffer.from("../../etc/passwd") }],
  ["a MIF of a million columns", inMif(/Columns \d+/, "Columns 1000000")],
  ["a MIF region of 2 billion rings", inMif(/Region +\d+/i, `Region ${most}`)],
  ["a MIF ring of 2 billion positions", inMif(/(Region +\d+\s+)\d+/i, `$1${most}`)],
  [
    "a FlatGeobuf header of 4 GB",
    lying(fgb, "data.fgb", (b) => b.writeUInt32LE(0xffffffff, 8)),
    "import_failed",
  ],
  ["a FlatGeobuf header of 2 GB", lying(fgb, "data.fgb", (b) => b.writeUInt32LE(most, 8)), "import_failed"],
  ["DXF blocks that multiply", one("dxf", dxfBlocks(9)), "import_failed"],
  [
    "DXF blocks that multiply, with ends of lines of old",
    one("dxf", dxfBlocks(9).replaceAll("\n", "\r")),
    "import_failed",
  ],
  ["DXF blocks in blocks", one("dxf", dxfBlocks(3)), "none"],
  [
    "a DXF block that inserts itself",
    one("dxf", dxfBlocks(1).replace("2\nb0\n10\n1\n20\n1\n0\nENDBLK", "2\nb1\n10\n1\n20\n1\n0\nENDBLK")),
  ],
  ["DXF blocks nested by fifty", one("dxf", dxfBlocks(50, 1)), "none"],
  ["DXF blocks nested by ten thousand", one("dxf", dxfBlocks(10_000, 1)), "import_failed"],
  [
    "DXF blocks nested by ten thousand, of which each is drawn",
    one(
      "dxf",
      dxfBlocks(
        10_000,
        1,
        Array.from({ length: 10_001 }, (_, level) => level),
      ),
    ),
    "import_failed",
  ],
  ["DXF blocks nested by ten thousand that are not drawn", one("dxf", dxfBlocks(10_000, 1, [3])), "none"],
  ["KML folders nested by a hundred thousand", one("kml", nested("<Folder>", 100_000, "</Folder>"))],
  ["a DXF array of a billion", one("dxf", dxfArray(32_000)), "import_failed"],
];

t.test("what a file says of its sizes is not believed", async (t) => {
  for (const [name, files, wanted] of lies) {
    const started = performance.now();
    const code = await outcome(files);
    if (wanted === undefined) t.match(code, /^(none|import_failed|invalid_geometry)$/, name);
    else t.equal(code, wanted, name);
    t.ok(performance.now() - started < 20_000, `${name}: in time`);
    t.same(readdirSync(tempDir), [], name);
  }
  t.equal(await outcome({ "a.geojson": good }), "none", "the next import works");
});
