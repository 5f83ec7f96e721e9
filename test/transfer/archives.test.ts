import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { type GdalFile, writeGdalFile } from "../support/gdal-files.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

/** Archives, and files that consist of several. */

const bench = await importBench();
t.teardown(() => bench.stop());

const geojson = (a: number) => JSON.stringify(collection(feature({ a }, point(a, 2))));

function gdalFiles(file: GdalFile): Record<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  try {
    return writeGdalFile(folder, file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const roads = {
  fields: { name: gdal.OFTString, lanes: gdal.OFTInteger },
  geometryType: gdal.wkbLineString,
  features: [{ values: { name: "улица", lanes: 2 }, wkt: "LINESTRING (30 60, 31 61)" }],
};
const shapefile = gdalFiles({
  driver: "ESRI Shapefile",
  extension: "shp",
  options: ["ENCODING=UTF-8"],
  ...roads,
});
const tab = gdalFiles({ driver: "MapInfo File", extension: "tab", options: ["ENCODING=CP1251"], ...roads });
const mif = gdalFiles({ driver: "MapInfo File", extension: "mif", options: ["ENCODING=CP1251"], ...roads });

/** Imports a ZIP archive of the files, or the files as parts. */
async function imported(files: Record<string, string | Buffer>, as: "zip" | "parts" = "zip") {
  const layer = await bench.layer();
  const result =
    as === "zip"
      ? await bench.import(layer, await zipOf(files), { extension: "zip" })
      : await bench.import(layer, "", { files: stored(files) });
  return { ...result, objects: await bench.objects(layer) };
}

const stored = (files: Record<string, string | Buffer>) =>
  Object.entries(files).map(([name, content]) => ({ path: bench.file(content), name }));

const withNames = (files: Record<string, Buffer>, rename: (name: string) => string) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [rename(name), content]));

t.test("formats of several files come as an archive or as parts", async (t) => {
  for (const [name, files] of Object.entries({ shapefile, tab, mif })) {
    for (const as of ["zip", "parts"] as const) {
      const { objects } = await imported(files, as);
      t.match(objects, [{ name: "улица", lanes: 2, geom: "LINESTRING(30 60,31 61)" }], `${name}, ${as}`);
    }
  }
  const upper = withNames(shapefile, (name) => name.replace("data", "DIR\\Дороги").toUpperCase());
  t.match((await imported(upper)).objects, [{ name: "улица" }], "whatever the case and the folder");
});

t.test("all datasets of an archive are read, each with its own spatial reference", async (t) => {
  const web = gdalFiles({
    driver: "ESRI Shapefile",
    extension: "shp",
    epsg: 3857,
    geometryType: gdal.wkbPoint,
    fields: { name: gdal.OFTString },
    features: [{ values: { name: "square" }, wkt: "POINT (1113194.90793 6446275.84102)" }],
  });
  const crs = { type: "name", properties: { name: "urn:ogc:def:crs:EPSG::3857" } };
  const { objects, rows } = await imported({
    ...withNames(shapefile, (name) => `a/${name}`),
    ...withNames(web, (name) => `b/${name}`),
    "first.geojson": JSON.stringify({ ...collection(feature({ name: "x" }, point(111319.490793, 0))), crs }),
    "second.geojson": JSON.stringify(collection(feature({ name: "y" }, point(3, 4)))),
  });
  t.equal(rows, 4);
  t.same(
    objects.map(({ name }) => name),
    ["улица", "square", "x", "y"],
  );
  const places = objects.map(({ geom }) =>
    String(geom).replace(/\d+\.\d+/g, (n) => `${Math.round(Number(n))}`),
  );
  t.same(places.slice(1), ["POINT(10 50)", "POINT(1 0)", "POINT(3 4)"]);
});

t.test("what is not read of an archive is said", async (t) => {
  const { objects, notes } = await imported({
    "a.geojson": geojson(1),
    "notes.pdf": "x",
    "__MACOSX/._a.geojson": "x",
    ".DS_Store": "x",
    "README.txt": "x",
    "about.txt": "x",
    "other.prj": "x",
  });
  t.equal(objects.length, 1);
  t.same(notes, [
    'Files of the archive that were not read: "notes.pdf", "about.txt".',
    "A file .prj belongs to a file .shp or an image of the same name, which is missing. It was not read.",
  ]);
  t.match((await imported({ "a.txt": "a;lon;lat\n1;2;3" })).objects, [{ a: 1, geom: "POINT(2 3)" }]);
  t.same((await imported({ "a.geojson": geojson(1), "b.txt": "x" }, "parts")).notes, [
    'Files that were not read: "b.txt".',
  ]);
});

t.test("only what belongs to a file is unpacked", async (t) => {
  const vrt =
    '<VRTDataset rasterXSize="1" rasterYSize="1"><SourceFilename>/etc/passwd</SourceFilename></VRTDataset>';
  const { objects, notes } = await imported({
    ...shapefile,
    "data.shp.aux.xml": vrt,
    "data.aux.xml": vrt,
    "data.ovr": vrt,
    "data.vrt": vrt,
    "data.qix": "x",
  });
  t.match([objects.length, notes], [1, []]);
});

t.test("missing parts are told", async (t) => {
  const without = (files: Record<string, Buffer>, ...extensions: string[]) =>
    Object.fromEntries(
      Object.entries(files).filter(([name]) => !extensions.some((e) => name.endsWith(`.${e}`))),
    );
  t.match(await imported(without(shapefile, "dbf", "shx"), "parts"), {
    objects: [{ geom: "LINESTRING(30 60,31 61)" }],
    notes: [/without its \.dbf/],
  });
  // The header of a table without columns and rows.
  const empty = Buffer.alloc(33);
  Buffer.from("035f071a0000000021000100", "hex").copy(empty);
  empty[32] = 0x0d;
  t.match(await imported({ ...shapefile, "data.dbf": empty }, "parts"), {
    objects: [{ geom: "LINESTRING(30 60,31 61)" }],
    notes: [/has no rows/],
  });
  t.match((await imported(without(shapefile, "shp", "shx", "prj"), "parts")).objects, [
    { name: "улица", lanes: 2, geom: null },
  ]);
  t.match(await imported(without(mif, "mid"), "parts"), { notes: [/without its \.mid/] });
  for (const [files, message] of [
    [without(shapefile, "shp", "dbf"), /\.(prj|shx|cpg) belongs to a file \.shp/],
    [without(tab, "dat"), /the \.dat is missing/],
    [without(tab, "id"), /the \.id is missing/],
    [without(tab, "tab"), /belongs to a file \.tab/],
    [without(mif, "mif"), /belongs to a file \.mif/],
  ] as const) {
    t.match(await failureOf(imported(files, "parts")), { code: "import_failed", message });
    t.match(await failureOf(imported(files)), { code: "import_failed", message }, "in an archive");
  }
});

t.test("a table that refers to other files is refused", async (t) => {
  const head = "!table\n!version 300\n!charset WindowsCyrillic\n\n";
  for (const text of [
    `${head}open table "/etc/passwd" Hide\ncreate view x As\nSelect a From b`,
    `${head}Definition Table\n  Type NATIVE Charset "Neutral"\n  Fields 1\n    a Char (10) ;\nbegin_metadata\n"\\IsSeamless" = "TRUE"\nend_metadata`,
    `${head}Definition Table\n  File "/etc/passwd"\n  Type "RASTER"`,
    `${head}Definition Table\n  Type LINKED Charset "Neutral"\n  Fields 1\n    a Char (10) ;`,
  ]) {
    t.match(await failureOf(imported({ ...tab, "data.tab": text }, "parts")), {
      code: "import_failed",
      message: /refers to other files/,
    });
  }
  t.match(await failureOf(imported({ ...tab, "data.tab": "root:x:0:0" })), {
    message: /not a table of MapInfo/,
  });
});

t.test("archives that are unsafe, damaged or of no use are refused and leave nothing", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ a: 1 })));
  const before = await bench.state(layer);
  const good = await zipOf({ "xx/a.geojson": geojson(1) });
  const replaced = (from: string, to: string) =>
    Buffer.from(good.toString("latin1").replaceAll(from, to), "latin1");
  const encrypted = Buffer.from(good);
  encrypted.writeUInt16LE(good.readUInt16LE(6) | 1, 6);
  const central = good.indexOf("PK\x01\x02", 0, "latin1");
  encrypted.writeUInt16LE(good.readUInt16LE(central + 8) | 1, central + 8);
  const many = Buffer.from(good);
  const end = good.indexOf("PK\x05\x06", 0, "latin1");
  for (const place of [8, 10]) many.writeUInt16LE(60_000, end + place);
  const bad: readonly (readonly [string, Buffer, RegExp])[] = [
    ["a name that leads up", replaced("xx/a.geojson", "../a.geojson"), /leads out of it/],
    ["a name with backslashes", replaced("xx/a.geojson", "..\\a.geojson"), /leads out of it/],
    ["an absolute name", replaced("xx/a.geojson", "/xxa.geojson"), /leads out of it/],
    ["a drive", replaced("xx/a.geojson", "C:/a.geojson"), /leads out of it/],
    [
      "a link",
      await zipOf({ "a.geojson": "/etc/passwd" }, { mode: 0o120777 }),
      /neither a file nor a folder/,
    ],
    ["a device", await zipOf({ "a.geojson": "" }, { mode: 0o020666 }), /neither a file nor a folder/],
    ["an archive in it", await zipOf({ "a.geojson": geojson(1), "b.ZIP": good }), /another archive, "b.ZIP"/],
    ["too many files", many, /more than 10000 files/],
    ["one name twice", await zipOf({ "a.geojson": geojson(1), "A.geojson": geojson(1) }), /two files named/],
    ["nothing to read", await zipOf({ "a.pdf": "", "b/c.exe": "" }), /It holds: "a\.pdf", "b\/c\.exe"/],
    ["nothing", await zipOf({}), /It holds: nothing/],
    ["an encrypted file", encrypted, /encrypted/],
    ["half of it", good.subarray(0, good.length / 2), /cannot be read/],
    ["an empty file", Buffer.alloc(0), /cannot be read/],
    ["no archive", Buffer.from("PK\x03\x04 hello"), /cannot be read/],
  ];
  for (const [name, content, message] of bad) {
    const failure = await failureOf(bench.import(layer, content, { extension: "zip", action: "replace" }));
    t.match(failure, { code: "import_failed", message }, name);
  }
  t.equal(await bench.state(layer), before);
  t.same(readdirSync(join(bench.deps.config.dataDir, "tmp")), [], "nothing is left in the temporary folder");
  t.equal(bench.transfer.counts().restarts, 0);
});

t.test("an archive may be unpacked to so many bytes and no more", async (t) => {
  const layer = await bench.layer();
  const { config } = bench.deps;
  const deps = {
    ...bench.deps,
    config: { ...config, transfer: { ...config.transfer, unpackedBytes: 1_000_000 } },
  };
  const importZip = (content: Buffer, name = "a.zip") =>
    importIntoLayer(
      deps,
      { layerId: layer, language: "en" },
      { files: [{ path: bench.file(content, "zip"), name }], action: "merge" },
    );
  const spaces = (length: number) => `${geojson(1)}${" ".repeat(length)}`;
  t.match(await importZip(await zipOf({ "a.geojson": spaces(900_000) })), { rows: 1 });
  const bomb = await zipOf({ "a.geojson": spaces(20_000_000) });
  t.ok(bomb.length < 100_000);
  t.match(await failureOf(importZip(bomb)), { message: /larger than 1000000 bytes when it is unpacked/ });
  const two = await zipOf({ "a.geojson": spaces(600_000), "b.geojson": spaces(600_000) });
  t.match(await failureOf(importZip(two)), { message: /larger than 1000000 bytes/ }, "in all");
  const kmz = await zipOf({ "doc.kml": `<kml/>${" ".repeat(20_000_000)}` });
  t.match(await failureOf(importZip(kmz, "a.kmz")), { message: /larger than 1000000 bytes/ });
  t.match(await failureOf(importZip(await zipOf({ "a.kmz": kmz }))), {
    message: /larger than 1000000 bytes/,
  });
  // The size that the archive states is a lie.
  const lying = Buffer.from(bomb);
  const central = bomb.indexOf("PK\x01\x02", 0, "latin1");
  lying.writeUInt32LE(100, 22);
  lying.writeUInt32LE(100, central + 24);
  t.match(await failureOf(importZip(lying)), { code: "import_failed", message: /cannot be read/ });
});

t.test("names of an archive without UTF-8 are those of DOS", async (t) => {
  const zip = await zipOf({ "aaaaaa.geojson": geojson(1), "bbbbbb.pdf": "" });
  // "дороги" in cp866; the flag of UTF-8 is taken away.
  const text = zip.toString("latin1").replaceAll("bbbbbb", "\xa4\xae\xe0\xae\xa3\xa8");
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length - 4; at++) {
    if (bytes.toString("latin1", at, at + 4) === "PK\x01\x02") bytes.writeUInt16LE(0, at + 8);
    if (bytes.toString("latin1", at, at + 4) === "PK\x03\x04") bytes.writeUInt16LE(0, at + 6);
  }
  const result = await bench.import(await bench.layer(), bytes, { extension: "zip" });
  t.match(result.notes, [/"дороги\.pdf"/]);
});
