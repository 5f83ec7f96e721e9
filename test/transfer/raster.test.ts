import { readdir } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import t from "tap";
import { sweepFiles } from "../../src/catalog/file-sweep.js";
import { toMercator } from "../../src/geo/envelope.js";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { emptyBins } from "../support/bin.js";
import { makeMap } from "../support/maps.js";
import { geoTiff, readImage, type TestImage } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** Images that become raster layers. */

const server = await startServer({ config: { "transfer.rasterBytes": 40_000_000 } });
t.teardown(() => server.stop());
const { db, blobs, config } = server.nodes[0]!.services;
await makeMap(server, "m");
const token = await server.token("editor");

const layers = "m/layers";
const newLayer = async (code: string) => {
  const made = await server.api("POST", `${layers}/`, { token, body: { code } });
  if (made.status !== 200) throw new Error(made.text);
};
const send = async (code: string, bytes: Uint8Array | string, name: string, query = "") => {
  const answer = await fetch(`${server.url}/api/2.8/p/${layers}/${code}/import/?${query}`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": name, "content-type": "application/octet-stream" },
    body: bytes as never,
  });
  const text = await answer.text();
  return { status: answer.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
};
/** Imports into a new layer. */
let made = 0;
const imported = async (bytes: Uint8Array, name: string, query = "") => {
  const code = `n${++made}`;
  await newLayer(code);
  const answer = await send(code, bytes, name, query);
  return { code, answer };
};
interface Row {
  readonly original: string;
  readonly processed: string;
  readonly srs: string;
  readonly nodata: number | null;
}
const rowOf = async (code: string): Promise<Row> => {
  const { rows } = await server.sql.query(
    "select r.* from raster r join node n on n.id = r.layer_id where n.code = $1",
    [code],
  );
  return rows[0];
};
const processed = async (code: string) => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read((await rowOf(code)).processed)) chunks.push(chunk);
  return readImage(Buffer.concat(chunks));
};
const storedKeys = async () => {
  const keys: string[] = [];
  for await (const some of new FolderBlobStore(join(config.dataDir, "files")).olderThan(-1))
    keys.push(...some);
  return keys.sort();
};
const near = (
  t: Tap,
  found: readonly number[] | undefined,
  wanted: readonly number[],
  by: number,
  message: string,
) =>
  t.ok(
    found && wanted.every((value, at) => Math.abs(value - found[at]!) <= by),
    `${message}: ${found} for ${wanted}`,
  );
type Tap = Pick<typeof t, "ok">;

/** A degree square with its south west at 37, 55: red in the west, blue in the east. */
const halves: TestImage = {
  width: 100,
  height: 50,
  epsg: 4326,
  transform: [37, 0.01, 0, 56, 0, -0.02],
  value: (x) => (x < 50 ? [200, 0, 0] : [0, 0, 200]),
};
const square = { sw: [55, 37], ne: [56, 38] };

t.test("a GeoTIFF makes a raster layer, with an image in the pixels of the tiles", async (t) => {
  const { code, answer } = await imported(geoTiff(halves), "photo.tif");
  t.equal(answer.status, 200, answer.text);
  t.match(answer.json, { type: "raster", code, css_style: "" });
  const image = await processed(code);
  t.match(image, { driver: "GTiff", type: "Byte", bands: 4, epsg: "3857", isTiled: true });
  t.ok(image.overviews > 0 || Math.max(image.width, image.height) < 256);
  const zoom = Math.log2(156_543.033_928_040_97 / image.transform![1]!);
  t.ok(Math.abs(zoom - Math.round(zoom)) < 1e-9, "the resolution of a zoom level");
  near(t, image.at(...toMercator(37.2, 55.5)), [200, 0, 0, 255], 1, "west");
  near(t, image.at(...toMercator(37.8, 55.9)), [0, 0, 200, 255], 1, "east");
  t.equal((await rowOf(code)).srs, "4326");
  t.same(await readdir(join(config.dataDir, "tmp")), []);
});

t.test("whole numbers of 32 bits are not mixed, in overviews neither", async (t) => {
  const image: TestImage = {
    ...{ width: 400, height: 400, type: "Int32", epsg: 3857, nodata: -1 },
    transform: [4_000_000, 10, 0, 7_000_000, 0, -10],
    value: (x, y) => [(x + y) % 2 === 0 ? 10 : 1000],
  };
  const { code, answer } = await imported(geoTiff(image), "ids.tif");
  t.equal(answer.status, 200, answer.text);
  const found = await processed(code);
  t.ok(found.overviews > 0);
  const values = found.overviewValues();
  t.ok(values.includes(10) && values.includes(1000));
  t.same(
    values.filter((value) => ![-1, 10, 1000].includes(value)),
    [],
  );
});

t.test("a raster layer answers what layers are asked", async (t) => {
  const { code } = await imported(geoTiff(halves), "photo.tiff");
  const get = (path: string) => server.api("GET", `${layers}/${path}`);
  t.same((await get(`${code}/bbox/`)).json, square);
  const metres = (await get(`${code}/bbox/?bboxSR=3857`)).json;
  const [x, y] = toMercator(37, 55);
  near(t, metres.sw, [y, x], 0.01, "metres");
  t.same((await get(`${code}/?returnBbox=1`)).json.bbox, square);
  const tree = await get("?type=full&returnBbox=1");
  t.match(
    tree.json.find((one: { code: string }) => one.code === code),
    { type: "raster", bbox: square },
  );
  t.same((await get(`${code}/structure/`)).json, []);
  t.equal((await get(`${code}/count/`)).status, 404);
  t.equal((await get(`${code}/objects/`)).status, 404);
  t.equal((await get(`${code}/legend/`)).status, 404);
  const icon = await fetch(`${server.url}/api/2.8/p/${layers}/${code}/icon/`);
  t.equal(icon.headers.get("content-type"), "image/png");
  const tile = await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0&base=0`);
  t.equal(tile.status, 200);
  const renamed = await server.api("PATCH", `${layers}/${code}/`, {
    token,
    body: { parent_id: 0, name: "Photo", css_style: "" },
  });
  t.match(renamed.json, { type: "raster", name: "Photo", css_style: "" });
});

t.test("coordinates in metres are transformed, turned images too", async (t) => {
  // UTM zone 37, turned by 30 degrees.
  const [cos, sin] = [Math.cos(Math.PI / 6) * 10, Math.sin(Math.PI / 6) * 10];
  const { code, answer } = await imported(
    geoTiff({
      width: 80,
      height: 80,
      epsg: 32637,
      transform: [500_000, cos, sin, 6_200_000, sin, -cos],
      value: () => [9, 99, 199],
    }),
    "turned.geotif",
  );
  t.equal(answer.status, 200, answer.text);
  t.equal((await rowOf(code)).srs, "32637");
  const image = await processed(code);
  const { sw, ne } = (await server.api("GET", `${layers}/${code}/bbox/`)).json;
  t.ok(sw[1] > 38.9 && ne[1] < 39.1 && sw[0] > 55.9 && ne[0] < 56, `${sw} ${ne}`);
  near(t, image.at(...toMercator((sw[1] + ne[1]) / 2, (sw[0] + ne[0]) / 2)), [9, 99, 199, 255], 1, "middle");
  t.same(image.at(image.transform![0]! + 1, image.transform![3]! - 1), [0, 0, 0, 0], "the corner is clear");
});

t.test("an image without a georeference takes raster_bbox, else it is refused", async (t) => {
  const png = await sharp({ create: { width: 40, height: 20, channels: 4, background: "#00ff0080" } })
    .png()
    .toBuffer();
  await newLayer("plain");
  const none = await send("plain", png, "plan.png");
  t.match(none, { status: 500, json: { code: "no_georeference" } });
  t.match((await server.api("GET", `${layers}/plain/`)).json, { type: "layer" }, "as before");
  for (const box of ["BOX(1 2,3)", "1,2,3,4", "BOX(3 4,1 2)", "BOX(1e999 2,3 4)", "BOX(a b,c d)"])
    t.equal(
      (await send("plain", png, "plan.png", `raster_bbox=${encodeURIComponent(box)}`)).status,
      400,
      box,
    );
  const box = encodeURIComponent("BOX(37 55,38 56)");
  const placed = await send("plain", png, "plan.png", `raster_bbox=${box}`);
  t.equal(placed.status, 200, placed.text);
  t.same((await server.api("GET", `${layers}/plain/bbox/`)).json, square);
  near(t, (await processed("plain")).at(...toMercator(37.5, 55.5)), [0, 255, 0, 128], 1, "half transparent");
  const [[x0, y0], [x1, y1]] = [toMercator(37, 55), toMercator(38, 56)];
  const metres = encodeURIComponent(`BOX(${x0} ${y0},${x1} ${y1})`);
  const jpeg = await sharp(png).flatten().jpeg().toBuffer();
  t.equal((await send("plain", jpeg, "plan.jpg", `srs=3857&raster_bbox=${metres}`)).status, 200);
  const again = (await server.api("GET", `${layers}/plain/bbox/`)).json;
  near(t, [...again.sw, ...again.ne], [55, 37, 56, 38], 1e-6, "in metres");
});

t.test("coordinates that cannot be those of srs are refused", async (t) => {
  const degrees = geoTiff(halves);
  const wrong = await imported(degrees, "a.tif", "srs=3857");
  t.match(wrong.answer, { status: 500, json: { code: "import_failed", message: /degrees/ } });
  const metres = geoTiff({ ...halves, transform: [4_000_000, 100, 0, 7_000_000, 0, -100], epsg: 3857 });
  t.match((await imported(metres, "a.tif", "srs=4326")).answer, {
    json: { code: "import_failed", message: /degrees/ },
  });
  t.equal((await imported(metres, "a.tif", "srs=32637")).answer.status, 200, "srs overrides");
  t.match((await imported(degrees, "a.tif", "srs=%2Bproj%3Dlonglat%20%2Bnadgrids%3D/etc/passwd")).answer, {
    json: { code: "import_failed" },
  });
});

t.test("numbers, nodata and palettes are kept for drawing", async (t) => {
  const place = { width: 64, height: 64, epsg: 3857, transform: [4_000_000, 10, 0, 7_000_000, 0, -10] };
  const [x, y] = [4_000_480, 6_999_680];
  const heights = await imported(
    geoTiff({ ...place, type: "Int16", nodata: -32_768, value: (px) => [px < 32 ? -32_768 : 1_234] }),
    "dem.tif",
  );
  t.equal(heights.answer.status, 200, heights.answer.text);
  const dem = await processed(heights.code);
  t.match(dem, { type: "Int16", bands: 1, nodata: -32_768 });
  t.same([dem.at(x, y), dem.at(4_000_100, y)], [[1_234], [-32_768]]);
  t.equal((await rowOf(heights.code)).nodata, -32_768);

  const floats = await imported(geoTiff({ ...place, type: "Float32", value: () => [1.5] }), "f.tif");
  t.match(await processed(floats.code), { type: "Float32", bands: 1, nodata: Number.NaN });

  const palette = await imported(
    geoTiff({
      ...place,
      palette: [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
      ],
      nodata: 0,
      value: (px) => [px < 32 ? 0 : 1],
    }),
    "scan.tif",
  );
  const scan = await processed(palette.code);
  t.match(scan, { type: "Byte", bands: 4 });
  t.same([scan.at(x, y), scan.at(4_000_100, y)![3]], [[0, 255, 0, 255], 0]);

  const inks = await imported(
    geoTiff({ ...place, value: () => [0, 255, 255, 0], options: ["PHOTOMETRIC=CMYK"] }),
    "cmyk.tif",
  );
  t.same((await processed(inks.code)).at(x, y), [255, 0, 0, 255]);

  const deep = await sharp({ create: { width: 8, height: 8, channels: 3, background: "#ff8000" } })
    .toColourspace("rgb16")
    .png()
    .toBuffer();
  const shown = await imported(deep, "deep.png", "raster_bbox=BOX(37%2055,38%2056)");
  t.equal(shown.answer.status, 200, shown.answer.text);
  near(t, (await processed(shown.code)).at(...toMercator(37.5, 55.5)), [255, 128, 0, 255], 1, "16 bits");
});

t.test("an image across the antimeridian, and one of the whole world, are in one piece", async (t) => {
  const across = await imported(
    geoTiff({ ...halves, width: 200, transform: [170, 0.1, 0, 60, 0, -0.1], value: (x) => [x] }),
    "pacific.tif",
  );
  t.equal(across.answer.status, 200, across.answer.text);
  t.same((await server.api("GET", `${layers}/${across.code}/bbox/`)).json, { sw: [55, 170], ne: [60, 190] });
  const pacific = await processed(across.code);
  near(t, pacific.at(...toMercator(175.05, 57)), [50, 255], 2, "west of it");
  near(t, pacific.at(...toMercator(185.05, 57)), [150, 255], 2, "east of it");

  const zone = await imported(
    geoTiff({
      width: 50,
      height: 50,
      epsg: 32601,
      transform: [100_000, 8_000, 0, 6_600_000, 0, -8_000],
      value: () => [5],
    }),
    "chukotka.tif",
  );
  const box = (await server.api("GET", `${layers}/${zone.code}/bbox/`)).json;
  t.ok(box.ne[1] - box.sw[1] < 12, `${box.sw} ${box.ne}`);

  const world = await imported(
    geoTiff({
      ...halves,
      width: 360,
      height: 180,
      transform: [-180, 1, 0, 90, 0, -1],
      value: (x) => [x / 2],
    }),
    "world.tif",
  );
  t.equal(world.answer.status, 200, world.answer.text);
  t.same((await server.api("GET", `${layers}/${world.code}/bbox/`)).json, { sw: [-90, -180], ne: [90, 180] });
  near(t, (await processed(world.code)).at(...toMercator(90.5, 0.5)), [135, 255], 2, "world");
});

t.test("a raster layer's image is replaced, and what it had is deleted with it", async (t) => {
  const { code } = await imported(geoTiff(halves), "a.tif");
  const before = await rowOf(code);
  const damaged = geoTiff({ ...halves, width: 400, height: 400 }).subarray(0, 100_000);
  const failed = await send(code, damaged, "a.tif");
  t.match(failed, { status: 500, json: { code: "import_failed" } });
  t.same(await rowOf(code), before, "as before");
  const vector = await send(code, '{"type":"FeatureCollection","features":[]}', "a.geojson");
  t.match(vector.json, { code: "import_failed" });
  const second = await send(
    code,
    geoTiff({ ...halves, transform: [10, 0.01, 0, 20, 0, -0.02] }),
    "b.tif",
    "action=2",
  );
  t.equal(second.status, 200, second.text);
  t.same((await server.api("GET", `${layers}/${code}/bbox/`)).json, { sw: [19, 10], ne: [20, 11] });
  const after = await rowOf(code);
  const keys = await storedKeys();
  t.notOk([before.original, before.processed].some((key) => keys.includes(key)));
  t.ok([after.original, after.processed].every((key) => keys.includes(key)));
  await sweepFiles(db, blobs, { ageMs: 0 });
  t.same(await storedKeys(), keys, "the sweep leaves images of layers alone");

  t.equal((await server.api("DELETE", `${layers}/${code}/`, { token })).status, 200);
  await emptyBins(db);
  t.equal(await rowOf(code), undefined);
  await sweepFiles(db, blobs, { ageMs: 0 });
  const left = await storedKeys();
  t.notOk([after.original, after.processed].some((key) => left.includes(key)));
});

t.test("a layer with objects, or that others are made from, takes no image", async (t) => {
  await newLayer("full");
  const object = await server.api("POST", `${layers}/full/objects/`, { token, body: { fields: {} } });
  t.equal(object.status, 200);
  const answer = await send("full", geoTiff(halves), "a.tif");
  t.match(answer.json, { code: "import_failed", message: /objects/ });
  t.equal((await server.api("GET", `${layers}/full/count/`)).json, 1);
  await newLayer("source");
  const virtual = { code: "derived", type: "virtual", source: { layer: "source" } };
  t.equal((await server.api("POST", `${layers}/`, { token, body: virtual })).status, 200);
  t.match((await send("source", geoTiff(halves), "a.tif")).json, { code: "invalid_value" });
  t.equal((await server.api("GET", `${layers}/derived/count/`)).json, 0);
});

t.test("an empty layer with columns and settings becomes a raster layer", async (t) => {
  await newLayer("columns");
  const column = { code: "height", type: "number" };
  t.equal((await server.api("POST", `${layers}/columns/structure/`, { token, body: column })).status, 200);
  const answer = await send("columns", geoTiff(halves), "a.tif");
  t.equal(answer.status, 200, answer.text);
  t.same((await server.api("GET", `${layers}/columns/structure/`)).json, []);
  const tables = await server.sql.query("select to_regclass('layers.l' || $1) as name", [answer.json.id]);
  t.equal(tables.rows[0].name, null);
  const object = await server.api("POST", `${layers}/columns/objects/`, { token, body: { fields: {} } });
  t.equal(object.status, 404);
});
