import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pixel, soon, startBrowser, until } from "./support.js";

/** Tiles, drawn by MapLibre GL JS from their TileJSON on a page of another server. */

const server = await startServer({ config: { "tiles.cacheControl": "public, max-age=0, must-revalidate" } });
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t, [
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
]);

const library = dirname(createRequire(import.meta.url).resolve("maplibre-gl/dist/maplibre-gl.mjs"));

/** The park is 20 degrees wide; the stop in its middle is drawn over it. */
const style = {
  version: 8,
  sources: { town: { type: "vector", url: `${server.url}/tms/p/town/tile.mvt.json` } },
  layers: [
    { id: "ground", type: "background", paint: { "background-color": "#ffffff" } },
    {
      id: "parks",
      type: "fill",
      source: "town",
      "source-layer": "parks",
      // By the values of columns: a number and a text.
      filter: [">", ["get", "trees"], 100],
      paint: { "fill-color": ["match", ["get", "name"], "Green park", "#00ff00", "#ff00ff"] },
    },
    {
      id: "stops",
      type: "circle",
      source: "town",
      "source-layer": "stops",
      paint: { "circle-radius": 20, "circle-color": "#ff0000" },
    },
  ],
};

/** Of a map that is not public: images, and vector tiles with the same areas, shown as their outlines. */
const secretStyle = (images: string) => ({
  version: 8,
  sources: {
    images: { type: "raster", url: images, tileSize: 256 },
    vault: { type: "vector", url: images.replace("tile.json", "tile.mvt.json") },
  },
  layers: [
    { id: "ground", type: "background", paint: { "background-color": "#ffffff" } },
    { id: "images", type: "raster", source: "images", paint: { "raster-fade-duration": 0 } },
    {
      id: "outlines",
      type: "line",
      source: "vault",
      "source-layer": "vault",
      paint: { "line-color": "#000000", "line-width": 20 },
    },
  ],
});

const page = (style: object) => `<!doctype html><title>MapLibre</title>
<style>body { margin: 0 } #map { width: 800px; height: 600px }</style><div id="map"></div>
<script type="module">
  import * as maplibre from "./maplibre-gl.mjs";
  window.map = new maplibre.Map({
    container: "map", style: ${JSON.stringify(style)}, center: [10, 10], zoom: 3, fadeDuration: 0,
    attributionControl: false, canvasContextAttributes: { preserveDrawingBuffer: true },
  });
  window.failures = [];
  map.on("error", ({ error }) => failures.push(String(error)));
</script>`;

let shown: object = style;

/** Serves the page and the library. */
const site = createServer(async (request, response) => {
  const name = new URL(request.url ?? "/", "http://localhost").pathname.slice(1);
  if (name === "") return void response.setHeader("content-type", "text/html").end(page(shown));
  const file = /^[\w-]+\.mjs$/.test(name)
    ? await readFile(join(library, name)).catch(() => undefined)
    : undefined;
  if (!file) return void response.writeHead(404).end();
  response.setHeader("content-type", "text/javascript").end(file);
});
await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
t.teardown(() => site.close());
const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;

t.test("MapLibre draws the layers of the tiles by the values of their columns, and sees edits", async (t) => {
  const { page, requests } = await openPage(browser, address, { waitForMap: false });
  const idle = () => until(page, "window.map !== undefined && map.loaded() && map.areTilesLoaded()");
  await idle();
  await soon(t).same(() => page.evaluate("failures"), []);
  const tiles = requests.filter((url) => url.includes(".mvt") && !url.endsWith(".json"));
  t.ok(tiles.length > 0 && tiles.every((url) => /\/tms\/p\/town\/\d+\/\d+\/\d+\.mvt$/.test(url)), tiles[0]!);
  const colourAt = async (lon: number, lat: number) => {
    const { x, y } = await page.evaluate<{ x: number; y: number }>(`map.project([${lon}, ${lat}])`);
    return [...(await pixel(page, Math.round(x), Math.round(y)))].slice(0, 3);
  };
  await page.waitForTimeout(100);
  await soon(t).same(() => colourAt(5, 5), [0, 255, 0], "the park");
  await soon(t).same(() => colourAt(10, 10), [255, 0, 0], "the stop over it");
  await soon(t).same(() => colourAt(40, 10), [255, 255, 255], "the park with few trees is filtered out");
  await soon(t).same(() => colourAt(-5, 5), [255, 255, 255], "nothing");
  const features = await page.evaluate<{ id: number; properties: { name: string } }[]>(
    `map.queryRenderedFeatures(map.project([5, 5]), { layers: ["parks"] }).map(({ id, properties }) => ({ id, properties }))`,
  );
  t.match(features, [{ properties: { name: "Green park" } }]);
  const token = await server.token("editor");
  const { id } = features[0]!;
  const path = `town/layers/parks/objects/${id}/`;
  const edited = await server.api("PUT", path, { token, body: { fields: { name: "Blue park" } } });
  t.equal(edited.status, 200, edited.text);
  // A page that asks again gets the new tile, though the browser has the old one.
  await page.reload();
  await idle();
  await page.waitForTimeout(100);
  await soon(t).same(() => colourAt(5, 5), [255, 0, 255]);
  await page.context().close();
});

t.test("MapLibre draws a map that is not public by the address of its TileJSON with a key", async (t) => {
  const token = await server.token("viewer");
  const made = await server.api("POST", "secret/tile-key/", { token, body: {} });
  t.equal(made.status, 200, made.text);
  const { key, tilejson } = made.json;
  shown = secretStyle(`${tilejson}&base=0`);
  const open = () => openPage(browser, address, { waitForMap: false });
  const idle = (page: Page) =>
    until(page, "window.map !== undefined && map.loaded() && map.areTilesLoaded()");
  const { page, requests } = await open();
  await idle(page);
  await soon(t).same(() => page.evaluate("failures"), []);
  const tiles = requests.filter((url) => /\/\d+\.(png|mvt)/.test(url));
  t.ok(tiles.some((url) => url.includes(".png")) && tiles.some((url) => url.includes(".mvt")));
  t.ok(tiles.every((url) => url.includes(`key=${key}`)));
  await page.waitForTimeout(100);
  const colourAt = async (lon: number, lat: number) => {
    const { x, y } = await page.evaluate<{ x: number; y: number }>(`map.project([${lon}, ${lat}])`);
    return [...(await pixel(page, Math.round(x), Math.round(y)))].slice(0, 3);
  };
  await soon(t).same(() => colourAt(10, 10), [255, 0, 255], "the area of the image");
  await soon(t).same(() => colourAt(0, 10), [0, 0, 0], "its outline, of the vector tiles");
  await soon(t).same(() => colourAt(-10, 10), [255, 255, 255], "nothing beside it");
  await page.context().close();

  t.same((await server.api("DELETE", "secret/tile-key/", { token })).json, { ended: 1 });
  const closed = await open();
  await until(closed.page, "window.failures?.length >= 2");
  t.match(await closed.page.evaluate<string[]>("failures"), [/401|Unauthorized/, /401|Unauthorized/]);
  await closed.page.context().close();
});
