import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { importIsolation } from "../../src/hosts/isolation.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { collection, failureOf, feature, importBench } from "../support/transfer.js";

/** Files that name other files or addresses, and processes that would take more than they may. */

const bench = await importBench();
t.teardown(() => bench.stop());
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(folder, { recursive: true }));

let connections = 0;
const canary = createServer((socket) => {
  connections++;
  socket.destroy();
});
await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
t.teardown(() => canary.close());
const url = `http://127.0.0.1:${(canary.address() as { port: number }).port}/x`;
const secret = "the content of the canary file";
const canaryFile = join(folder, "canary.csv");
writeFileSync(canaryFile, `name,WKT\n${secret},POINT (1 2)\n`);

const vrt = (source: string) =>
  `<OGRVRTDataSource><OGRVRTLayer name="canary"><SrcDataSource>${source}</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>`;
const point = '<gml:Point srsName="EPSG:4326"><gml:coordinates>1,2</gml:coordinates></gml:Point>';
const gml = (head: string, attributes: string, value: string) =>
  `<?xml version="1.0"?>${head}<ogr:FeatureCollection xmlns:ogr="http://ogr.maptools.org/" xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ${attributes}><gml:featureMember><ogr:a fid="1"><ogr:geometryProperty>${point}</ogr:geometryProperty><ogr:name>${value}</ogr:name></ogr:a></gml:featureMember></ogr:FeatureCollection>`;
const entity = (address: string) => gml(`<!DOCTYPE x [<!ENTITY e SYSTEM "${address}">]>`, "", "&e;");
const laughs = `<!DOCTYPE x [<!ENTITY a0 "ha">${Array.from({ length: 30 }, (_, i) => `<!ENTITY a${i + 1} "&a${i};&a${i};">`).join("")}]>`;

/** A GeoPackage whose table of features is a view. */
function viewPackage(select: string): Buffer {
  const own = mkdtempSync(join(folder, "gpkg-"));
  writeGdalFile(own, {
    driver: "GPKG",
    extension: "gpkg",
    fields: { name: gdal.OFTString },
    features: [{ values: { name: "x" }, wkt: "POINT (1 2)" }],
  });
  const path = join(own, "data.gpkg");
  // SQLite of Python checks nothing of what a view selects.
  execFileSync("python3", [
    "-c",
    `import sqlite3,sys
db=sqlite3.connect(sys.argv[1])
for (name,) in db.execute("select name from sqlite_master where type='trigger'").fetchall(): db.execute('drop trigger "%s"' % name)
db.execute("alter table data rename to real_data")
db.execute("create view data as " + sys.argv[2])
db.commit()`,
    path,
    select,
  ]);
  return readFileSync(path);
}

const attacks: readonly (readonly [string, string, string | Buffer])[] = [
  ...[
    "shp",
    "gml",
    "gpkg",
    "csv",
    "kml",
    "tab",
    "mif",
    "dxf",
    "fgb",
    "gpx",
    "xls",
    "sxf",
    "tif",
    "geojson",
  ].flatMap((extension) =>
    [canaryFile, `/vsicurl/${url}`, `<![CDATA[GML:${url}]]>`].map(
      (source) => [`a VRT named .${extension}`, extension, vrt(source)] as const,
    ),
  ),
  ...["gml", "kml", "csv", "dxf"].flatMap((extension) =>
    [`/vsicurl/${url}`, canaryFile, `WFS:${url}`, "PG:dbname=postgres", "MEM:::"].map(
      (text) => [`a text "${text}" named .${extension}`, extension, text] as const,
    ),
  ),
  ["a GML schema at an address", "gml", gml("", `xsi:schemaLocation="http://ogr.maptools.org/ ${url}"`, "x")],
  [
    "a GML schema in a file",
    "gml",
    gml("", `xsi:schemaLocation="http://ogr.maptools.org/ ${canaryFile}"`, "x"),
  ],
  ["an external entity, a file", "gml", entity(`file://${canaryFile}`)],
  ["an external entity, an address", "gml", entity(url)],
  ["an external entity in KML", "kml", entity(`file://${canaryFile}`)],
  ["an external DTD", "gml", gml(`<!DOCTYPE x SYSTEM "${url}">`, "", "x")],
  [
    "a link instead of a geometry",
    "gml",
    gml("", "", "x").replace(point, `<gml:Point xlink:href="${url}#a"/>`),
  ],
  ["a billion laughs", "gml", gml(laughs, "", "&a30;")],
  ["a billion laughs in KML", "kml", gml(laughs, "", "&a30;")],
  [
    "a view that asks an address",
    "gpkg",
    viewPackage(
      `select fid, geom, ogr_geocode('x', 'name', 'SERVICE=OSM_NOMINATIM', 'QUERY_TEMPLATE=${url}?q=%s') as name from real_data`,
    ),
  ],
  [
    "a view that reads a file",
    "gpkg",
    viewPackage(`select fid, geom, readfile('${canaryFile}') as name from real_data`),
  ],
  [
    "a view that loads an extension",
    "gpkg",
    viewPackage(`select fid, geom, load_extension('${canaryFile}') as name from real_data`),
  ],
];

t.test("no file is read but the one that was sent, and no address is asked", async (t) => {
  const layer = await bench.layer();
  const tmp = join(bench.deps.config.dataDir, "tmp");
  for (const [name, extension, content] of attacks) {
    const started = performance.now();
    const failure = await failureOf(bench.import(layer, content, { extension, action: "replace" }));
    // A file that merely points elsewhere may come in without what it points to.
    const objects = JSON.stringify(await bench.objects(layer));
    t.notMatch(objects + JSON.stringify(failure), secret, `${name}: nothing of the canary file`);
    t.notMatch(failure.message, folder, `${name}: no path`);
    t.ok(performance.now() - started < 20_000, `${name}: in time`);
    t.same(readdirSync(tmp), [], `${name}: nothing left`);
  }
  t.equal(connections, 0);
  t.equal(bench.transfer.counts().restarts, 0, "the host has seen it all");
  await bench.import(layer, collection(feature({ a: 1 })), { action: "replace" });
});

t.test("a document whose features GDAL cannot read does not empty the layer", async (t) => {
  const layer = await bench.layer();
  await bench.import(layer, collection(feature({ name: "kept" })));
  const deep = gml("", "", `${"<a>".repeat(1_000)}x${"</a>".repeat(1_000)}`);
  const failure = await failureOf(bench.import(layer, deep, { extension: "gml", action: "replace" }));
  t.match(failure.message, /The file has features, but none of them can be read/);
  t.match(await bench.objects(layer), [{ name: "kept" }]);
});

t.test("GDAL has the drivers of the import formats and no others", (t) => {
  const script =
    "import('gdal-async').then(({default: gdal}) => console.log(JSON.stringify(gdal.drivers.getNames())))";
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    env: { PATH: "/usr/bin", ...importIsolation },
    encoding: "utf8",
  });
  t.equal(stderr, "", "without warnings of those that it does not have");
  t.same(
    (JSON.parse(stdout) as string[]).toSorted(),
    [
      ...["DXF", "ESRI Shapefile", "FlatGeobuf", "GML", "GPKG", "GTiff", "JPEG", "MEM", "MapInfo File"],
      ...["Memory", "PNG", "XLS"],
    ].toSorted(),
  );
  t.end();
});

t.test("the kernel limits memory, files and core dumps of the host", async (t) => {
  await bench.transfer.whenReady();
  const limits = readFileSync(`/proc/${bench.transfer.pid}/limits`, "utf8");
  const { memoryBytes, unpackedBytes, rasterBytes } = bench.deps.config.transfer;
  const soft = (name: string) => Number(new RegExp(`^${name}\\s+(\\d+)\\s+\\1\\s`, "m").exec(limits)?.[1]);
  t.equal(soft("Max data size"), memoryBytes + 512 * 1024 ** 2);
  t.equal(soft("Max file size"), Math.max(unpackedBytes, rasterBytes));
  t.equal(soft("Max open files"), 512);
  t.equal(soft("Max core file size"), 0);
});
