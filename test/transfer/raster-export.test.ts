import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import t from "tap";
import { toMercator } from "../../src/geo/envelope.js";
import { makeMap } from "../support/maps.js";
import { geoTiff, readImage } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** Export of the images of raster layers. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const token = await server.token("editor");

const png = await sharp({ create: { width: 100, height: 50, channels: 3, background: "#ff8000" } })
  .png()
  .toBuffer();
const tiff = geoTiff({
  width: 50,
  height: 50,
  epsg: 32637,
  transform: [500_000, 10, 0, 6_200_000, 0, -10],
  value: () => [10, 20, 30],
});
const box = "raster_bbox=BOX(37%2055,38%2056)";

async function makeRaster(code: string, bytes: Buffer, name: string, query = ""): Promise<void> {
  await server.api("POST", "m/layers/", { token, body: { code, name: `План ${code}` } });
  const answer = await send(code, bytes, name, query);
  if (answer.status !== 200) throw new Error(await answer.text());
}
const send = (code: string, bytes: Buffer, name: string, query = "") =>
  fetch(`${server.url}/api/2.8/p/m/layers/${code}/import/?${query}`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": name },
    body: bytes as never,
  });
await makeRaster("tif", tiff, "a.tif");
await makeRaster("png", png, "a.png", box);
await server.api("POST", "m/layers/", { token, body: { code: "vector" } });

const get = async (code: string, query: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${code}/export/?${query}`, { headers });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
};

/** Extensions of the files in an archive. */
function extensionsIn(archive: Buffer): string[] {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  try {
    const path = join(folder, "a.zip");
    writeFileSync(path, archive);
    const names = execFileSync("unzip", ["-Z1", path], { encoding: "utf8" }).trim().split("\n");
    return names.map((name) => name.slice(name.lastIndexOf(".")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

t.test("the uploaded file comes back as it was, in its own format", async (t) => {
  const first = await get("tif", "format=geotif");
  t.equal(first.headers.get("content-type"), "image/tiff");
  t.match(first.headers.get("content-disposition"), /%20tif\.tif$/);
  t.equal(first.headers.get("x-export-notes"), null);
  t.ok(first.body.equals(tiff));
  const second = await get("png", "format=geotif&orig=true");
  t.equal(second.headers.get("content-type"), "image/png");
  t.match(second.headers.get("content-disposition"), /\.png$/);
  t.match(second.headers.get("x-export-notes"), /world file/);
  t.ok(second.body.equals(png));
  const part = await get("png", "format=geotif", { range: "bytes=1-3" });
  t.equal(part.status, 206);
  t.equal(part.body.toString(), "PNG");
});

t.test("orig=false gives the processed image", async (t) => {
  for (const code of ["tif", "png"]) {
    const answer = await get(code, "format=geotif&orig=false");
    t.equal(answer.headers.get("content-type"), "image/tiff");
    t.match(answer.headers.get("content-disposition"), /\.tif$/);
    t.match(readImage(answer.body), { driver: "GTiff", epsg: "3857", bands: 4 });
  }
  const image = readImage((await get("png", "format=geotif&orig=false")).body);
  t.same(image.at(...toMercator(37.5, 55.5)), [255, 128, 0, 255]);
});

t.test(
  "a zip archive has a world file and .prj beside an image that needs them, and reads back",
  async (t) => {
    const answer = await get("png", "format=geotif&zip=1");
    t.equal(answer.headers.get("content-type"), "application/zip");
    t.match(answer.headers.get("content-disposition"), /\.zip$/);
    t.same(extensionsIn(answer.body), [".png", ".pgw", ".prj"]);
    await makeRaster("again", answer.body, "a.zip");
    t.same(
      (await server.api("GET", "m/layers/again/bbox/")).json,
      (await server.api("GET", "m/layers/png/bbox/")).json,
    );
    t.same(extensionsIn((await get("tif", "format=geotif&zip=1")).body), [".tif"]);
    t.same(extensionsIn((await get("png", "format=geotif&orig=0&zip=1")).body), [".tif"]);
  },
);

t.test("formats that a layer cannot have are refused", async (t) => {
  const cases: [string, string, string][] = [
    ["vector", "geotif", "unsupported_format"],
    ["tif", "geojson", "unsupported_format"],
    ["tif", "csv", "unsupported_format"],
    ["tif", "bmp", "invalid_format"],
  ];
  for (const [code, format, error] of cases) {
    const answer = await get(code, `format=${format}`);
    t.equal(answer.status, 500);
    t.match(JSON.parse(answer.body.toString()), { code: error }, `${code} as ${format}`);
  }
  t.equal((await get("tif", "format=geotif&orig=maybe")).status, 400);
  t.equal((await get("none", "format=geotif")).status, 404);
});

t.test("a dry run says what would be, and changes nothing", async (t) => {
  const before = (await get("tif", "format=geotif")).body;
  const answer = await (await send("tif", png, "b.png", `${box}&dry_run=1`)).json();
  t.match(answer, { import: { dry_run: true, summary: /would/ } });
  t.ok((await get("tif", "format=geotif")).body.equals(before));
});

t.test("exports follow the rights of the layer", async (t) => {
  await server.sql.query("update map set has_publication = false where code = 'm'");
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await get("tif", "format=geotif")).status, 403);
  const own = await get("tif", "format=geotif", { "x-token": token });
  t.equal(own.headers.get("cache-control"), "private, no-store");
});
