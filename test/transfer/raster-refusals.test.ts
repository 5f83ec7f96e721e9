import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import sharp from "sharp";
import t from "tap";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { encode } from "../support/encode.js";
import { pngOf } from "../support/png.js";
import { randomNumbers } from "../support/random.js";
import { geoTiff, readImage, type TestImage } from "../support/rasters.js";
import { failureOf, feature, importBench } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

/** Images that come in several files, that are damaged, or that were made to do harm. */

const bench = await importBench();
t.teardown(() => bench.stop());
const { db, deps, transfer } = bench;
const { dataDir } = deps.config;

const plain: TestImage = {
  width: 64,
  height: 64,
  epsg: 3857,
  transform: [4_000_000, 10, 0, 7_000_000, 0, -10],
  value: (x, y) => [x, y, 99],
};
const canary = createServer((socket) => {
  connections++;
  socket.destroy();
});
let connections = 0;
await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
t.teardown(() => canary.close());
const { port } = canary.address() as { port: number };

const imageOf = async (layerId: number) =>
  (
    await db.query<{ processed: string; box: number[]; srs: string; own: boolean }>(
      "select processed, box, srs, has_own_reference as own from raster where layer_id = $1",
      [layerId],
    )
  )[0];
const importParts = (layerId: number, parts: Readonly<Record<string, Uint8Array | string>>) => {
  const files = Object.entries(parts).map(([name, content]) => ({
    path: bench.file(typeof content === "string" ? content : Buffer.from(content), "part"),
    name,
  }));
  return importIntoLayer(deps, { layerId, language: "en" }, { files, action: "merge" });
};
const temporary = () => readdirSync(join(dataDir, "tmp"));

t.test("a world file and a .prj beside an image place it", async (t) => {
  const png = await sharp({ create: { width: 100, height: 50, channels: 3, background: "#123456" } })
    .png()
    .toBuffer();
  // The centre of the first pixel.
  const world = "0.01\n0\n0\n-0.02\n37.005\n55.99\n";
  for (const extension of ["pgw", "wld", "pngw"]) {
    const layer = await bench.layer();
    await importParts(layer, { "Plan 1.PNG": png, [`Plan 1.${extension}`]: world });
    const image = await imageOf(layer);
    t.match(image, { srs: "4326", own: false }, extension);
    for (const [at, edge] of [37, 55, 38, 56].entries())
      t.ok(Math.abs(image!.box[at]! - edge) < 1e-9, `${extension}: ${image!.box}`);
  }
  const layer = await bench.layer();
  const prj =
    'PROJCS["WGS 84 / UTM zone 37N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],' +
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],' +
    'PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",39],PARAMETER["scale_factor",0.9996],' +
    'PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1]]';
  const named = encode(prj.replace("WGS 84 / UTM zone 37N", "ВГС 84, зона 37 °"), "windows-1251")!;
  for (const bytes of [prj, named]) {
    await importParts(layer, { "a.png": png, "a.pgw": "10\n0\n0\n-10\n500000\n6200000\n", "a.prj": bytes });
    const image = await imageOf(layer);
    t.ok(Math.abs(image!.box[0]! - 39) < 0.001, String(image!.box));
  }
});

t.test("an archive may hold an image with its world file; other files in it are left out", async (t) => {
  const png = await sharp({ create: { width: 100, height: 50, channels: 3, background: "#123456" } })
    .png()
    .toBuffer();
  const archive = await zipOf({
    "maps/plan.png": png,
    "maps/plan.pgw": "0.01\n0\n0\n-0.02\n37.005\n55.99\n",
    "maps/plan.png.aux.xml": `<PAMDataset><SRS>EPSG:3857</SRS></PAMDataset>`,
    "maps/plan.png.ovr": geoTiff(plain),
    "maps/plan.vrt": vrt(secretTiff),
  });
  const layer = await bench.layer();
  const first = await importParts(layer, { "a.zip": archive });
  t.match(first.raster, { width: 100, height: 50, bands: 3 });
  t.match(await imageOf(layer), { srs: "4326", own: false });
  t.ok(await importParts(layer, { "a.zip": archive }), "and replace one");
  const pictures = await zipOf({ "a.geojson": JSON.stringify(feature({ a: 1 })), "icon.png": png });
  t.match(await failureOf(importParts(layer, { "b.zip": pictures })), {
    code: "import_failed",
    message: /image/,
  });
  const { notes } = await importParts(await bench.layer(), { "b.zip": pictures });
  t.match(notes, [/Images that were not read: 1/]);
});

t.test("parts that do not belong together, or say nothing, are refused", async (t) => {
  const tiff = geoTiff(plain);
  const png = await sharp({ create: { width: 4, height: 4, channels: 3, background: "#123456" } })
    .png()
    .toBuffer();
  const cases: [string, Record<string, Uint8Array | string>, string, RegExp][] = [
    ["two images", { "a.tif": tiff, "b.tif": tiff }, "import_failed", /alone/],
    ["an archive of two", { "a.zip": await zipOf({ "a.png": png, "b.png": png }) }, "import_failed", /alone/],
    ["another's world file", { "a.png": png, "b.pgw": "1 0 0 -1 0 0" }, "import_failed", /alone/],
    ["a world file of words", { "a.png": png, "a.pgw": "a b c d e f" }, "import_failed", /six numbers/],
    [
      "a world file without a size",
      { "a.png": png, "a.pgw": "0 0 0 0 37 55" },
      "import_failed",
      /six numbers/,
    ],
    ["no world file", { "a.png": png }, "no_georeference", /world file/],
    ["a .prj of another format", { "a.tif": tiff, "a.prj": "<xml/>" }, "import_failed", /prj/],
    [
      "a .prj that names a grid",
      { "a.tif": tiff, "a.prj": 'GEOGCS["a",EXTENSION["PROJ4","+nadgrids=/etc/passwd"]]' },
      "import_failed",
      /prj/,
    ],
  ];
  for (const [name, parts, code, message] of cases) {
    const layer = await bench.layer();
    const before = await bench.state(layer);
    t.match(await failureOf(importParts(layer, parts)), { code, message }, name);
    t.equal(await bench.state(layer), before, name);
  }
  t.same(temporary(), []);
});

/** A TIFF whose header claims this many pixels in strips of one row, and holds none. */
function claimingTiff(width: number, height: number, rowsPerStrip = 1): Buffer {
  const tags: [number, number, number, number][] = [
    [256, 4, 1, width],
    [257, 4, 1, height],
    [258, 3, 1, 8],
    [259, 3, 1, 1],
    [262, 3, 1, 1],
    [273, 4, 1, 8],
    [277, 3, 1, 1],
    [278, 4, 1, rowsPerStrip],
    [279, 4, 1, 1],
  ];
  const bytes = Buffer.alloc(8 + 2 + 12 * tags.length + 4);
  bytes.write("II*\0", 0, "latin1");
  bytes.writeUInt32LE(8, 4);
  bytes.writeUInt16LE(tags.length, 8);
  for (const [at, [tag, type, count, value]] of tags.entries()) {
    const place = 10 + 12 * at;
    bytes.writeUInt16LE(tag, place);
    bytes.writeUInt16LE(type, place + 2);
    bytes.writeUInt32LE(count, place + 4);
    if (type === 3) bytes.writeUInt16LE(value, place + 8);
    else bytes.writeUInt32LE(value, place + 8);
  }
  return bytes;
}

const secretFile = bench.file("SECRET-OF-THE-CANARY", "txt");
const secretTiff = bench.file(geoTiff({ ...plain, value: () => [7, 7, 7] }), "tif");
const vrt = (source: string) =>
  `<VRTDataset rasterXSize="64" rasterYSize="64"><SRS>EPSG:3857</SRS><GeoTransform>4000000,10,0,7000000,0,-10</GeoTransform>` +
  `<VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename>${source}</SourceFilename><SourceBand>1</SourceBand>` +
  `</SimpleSource></VRTRasterBand></VRTDataset>`;
/** A JPEG with a comment that is a VRT. */
async function jpegWithVrt(): Promise<Buffer> {
  const jpeg = await sharp({ create: { width: 64, height: 64, channels: 3, background: "#ffffff" } })
    .jpeg()
    .toBuffer();
  const comment = Buffer.from(vrt(secretTiff));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(comment.length + 2);
  return Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xfe]), length, comment, jpeg.subarray(2)]);
}

t.test("files that name other files or addresses are refused, or read without them", async (t) => {
  const box = [4_000_000, 6_999_360, 4_000_640, 7_000_000] as const;
  const wms = `<GDAL_WMS><Service name="TMS"><ServerUrl>http://127.0.0.1:${port}/\${z}/\${x}/\${y}.png</ServerUrl></Service></GDAL_WMS>`;
  const rawVrt = vrt("x").replace(
    'band="1">',
    `band="1" subClass="VRTRawRasterBand"><SourceFilename>${secretFile}</SourceFilename>`,
  );
  const contents: [string, string | Buffer][] = [
    ["a VRT", vrt(secretTiff)],
    ["a VRT of an address", vrt(`/vsicurl/http://127.0.0.1:${port}/a.tif`)],
    ["a raw band of a file", rawVrt],
    ["a WMS description", wms],
    [
      "a tile index",
      `<GDALTileIndexDataset><IndexDataset>${secretFile}</IndexDataset></GDALTileIndexDataset>`,
    ],
    ["a name of GDAL's", `/vsicurl/http://127.0.0.1:${port}/a.tif`],
    ["an SVG", `<svg xmlns="http://www.w3.org/2000/svg"><image href="file://${secretFile}"/></svg>`],
    ["nothing", ""],
  ];
  for (const extension of ["tif", "png", "jpg"]) {
    for (const [name, content] of contents) {
      const layer = await bench.layer();
      const failure = await failureOf(
        bench.import(layer, content, { extension, srs: "3857", rasterBox: box }),
      );
      t.match(failure, { code: "import_failed" }, `${name} named .${extension}`);
      t.notMatch(failure.message, /\/|SECRET/);
    }
  }
  // A JPEG is one, whatever its comment says.
  const layer = await bench.layer();
  await bench.import(layer, await jpegWithVrt(), { extension: "jpg", srs: "3857", rasterBox: box });
  const { processed } = (await imageOf(layer))!;
  const image = readImage(readFileSync(join(dataDir, "files", processed.slice(0, 2), processed)));
  t.same(image.at(4_000_320, 6_999_680), [255, 255, 255, 255]);

  for (const file of [secretTiff, `/vsicurl/http://127.0.0.1:${port}/a.ovr`]) {
    const named = geoTiff({ ...plain, metadata: { domain: "OVERVIEWS", values: { OVERVIEW_FILE: file } } });
    t.ok(named.includes("OVERVIEW_FILE"));
    t.match(await failureOf(bench.import(await bench.layer(), named, { extension: "tif" })), {
      code: "import_failed",
      message: /another file/,
    });
  }
  t.equal(connections, 0);
  t.same(temporary(), []);
});

t.test("an image that claims more than it may have is refused before it is read", async (t) => {
  const cases: [string, Buffer, string][] = [
    ["a million pixels a side", claimingTiff(1_000_000, 1_000_000), "tif"],
    ["4 G pixels a side", claimingTiff(2 ** 31 - 1, 2 ** 31 - 1), "tif"],
    ["one strip of 10 G", claimingTiff(100_000, 100_000, 100_000), "tif"],
    ["an enormous PNG", pngOf(1_000_000, 1_000_000, { pixels: deflateSync(Buffer.alloc(100)) }), "png"],
    ["a PNG of one long row", pngOf(2 ** 31 - 1, 1, { pixels: deflateSync(Buffer.alloc(100)) }), "png"],
  ];
  await transfer.whenReady();
  const pid = transfer.pid;
  for (const [name, bytes, extension] of cases) {
    const started = performance.now();
    const failure = await failureOf(
      bench.import(await bench.layer(), bytes, { extension, srs: "3857", rasterBox: [0, 0, 1000, 1000] }),
    );
    t.match(failure, { code: "import_failed" }, name);
    t.ok(performance.now() - started < 10_000, name);
  }
  t.equal(transfer.pid, pid, "the host has lived on");
  t.same(temporary(), []);
});

t.test("damaged images fail alone, and leave the layer with the image that it had", async (t) => {
  const random = randomNumbers(20_261_122);
  const noise = { ...plain, value: (x: number, y: number) => [(x * 37 + y * 91) % 256, (x * y) % 256, 3] };
  const samples: [string, Buffer][] = [
    ["tif", geoTiff(noise)],
    [
      "tif",
      geoTiff({ ...noise, options: ["COMPRESS=DEFLATE", "TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16"] }),
    ],
    ["tif", geoTiff({ ...noise, options: ["COMPRESS=JPEG", "PHOTOMETRIC=YCBCR"] })],
    ["png", await sharp(geoTiff(noise)).png().toBuffer()],
    ["jpg", await sharp(geoTiff(noise)).jpeg().toBuffer()],
  ];
  const layer = await bench.layer();
  await bench.import(layer, geoTiff(plain), { extension: "tif" });
  const counts = { imported: 0, refused: 0 };
  for (let i = 0; i < 25; i++) {
    const [extension, sample] = samples[i % samples.length]!;
    const bytes = Buffer.from(sample);
    const inHeader = i % 2 === 0;
    for (let changes = 1 + (random() % 4); changes > 0; changes--) {
      const at = inHeader ? random() % 300 : 300 + (random() % (bytes.length - 300));
      bytes[at] = [0, 0xff, 0x7f, 0x80, random() % 256][random() % 5]!;
    }
    const cut = i % 5 === 0 ? bytes.subarray(0, random() % bytes.length) : bytes;
    const before = await imageOf(layer);
    const failure = await failureOf(
      bench.import(layer, Buffer.from(cut), { extension, srs: "3857", rasterBox: [0, 0, 1000, 1000] }),
    );
    if (failure.code === "none") counts.imported++;
    else {
      counts.refused++;
      t.match(failure, { code: /^(import_failed|no_georeference)$/ }, `${i}: ${failure.message}`);
      t.same(await imageOf(layer), before);
      t.notMatch(failure.message, /\/tmp|\/import-/);
    }
  }
  t.ok(counts.imported > 2 && counts.refused > 8, JSON.stringify(counts));
  t.same(temporary(), []);
  const stored = readdirSync(join(dataDir, "files"), { recursive: true }).filter(
    (name) => String(name).length > 30 && !String(name).startsWith("aside/"),
  );
  t.equal(stored.length, 2 + 2 * 6, "blobs of the images that layers have");
});

t.test("a host that is killed fails its import alone", async (t) => {
  const layer = await bench.layer();
  const before = await bench.state(layer);
  const large = geoTiff({ ...plain, width: 3_000, height: 3_000, value: (x) => [x % 256] });
  const importing = failureOf(bench.import(layer, large, { extension: "tif" }));
  while (
    !readdirSync(join(dataDir, "tmp")).some((name) => existsSync(join(dataDir, "tmp", name, "copy.tif")))
  )
    await new Promise((resolve) => setTimeout(resolve, 5));
  process.kill(transfer.pid!, "SIGKILL");
  t.match(await importing, { code: "busy" });
  t.equal(await bench.state(layer), before);
  t.same(temporary(), []);
  await bench.import(layer, geoTiff(plain), { extension: "tif" });
  t.ok(await imageOf(layer));
});
