import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite from "node-sqlite3-wasm";
import { PMTiles, type Source } from "pmtiles";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { publicCaller } from "../../src/catalog/state.js";
import { systemClock } from "../../src/clock.js";
import { exportsFolder } from "../../src/export/export-folders.js";
import { RenderQueue } from "../../src/export/render-queue.js";
import { TileExports } from "../../src/export/tile-exports.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { geoTiff } from "../support/rasters.js";
import { startServer, waitFor } from "../support/server.js";

/** Tiles of a map as a file. */

const server = await startServer({ config: { "exports.tiles": 1_000 } });
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
const { services } = server.nodes[0]!;
const temporary = exportsFolder(services.config.dataDir);

const mapId = await makeMap(server, "m");
const red = await makeStyledLayer(server, "m", "red", "#a { polygon-fill: #ff0000; }");
const blue = await makeStyledLayer(server, "m", "blue", "#a { line-color: #0000ff; line-width: 3; }");
await addObject(server, "red", square(5, 5, 30), { map: "m" });
await addObject(server, "blue", square(12, 12, 5), { map: "m" });

const get = (query: string, { map = "m", token = "", signal }: GetOptions = {}) =>
  fetch(`${server.url}/api/2.8/p/${map}/export/?${query}`, {
    headers: token ? { "x-token": token } : {},
    ...(signal ? { signal } : {}),
  });
interface GetOptions {
  readonly map?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

async function pmtiles(query: string, options?: GetOptions): Promise<PMTiles> {
  const answer = await get(`format=pmtiles&${query}`, options);
  const text = answer.status === 200 ? "" : await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
  const bytes = await answer.arrayBuffer();
  const source: Source = {
    getKey: () => "archive",
    getBytes: async (offset, length) => ({ data: bytes.slice(offset, offset + length) }),
  };
  return new PMTiles(source);
}

/** Rows of the archive, with the row counted from the north. */
async function mbtiles(query: string) {
  const answer = await get(`format=mbtiles&${query}`);
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  const path = join(folder, "map.mbtiles");
  writeFileSync(path, Buffer.from(await answer.arrayBuffer()));
  const db = new sqlite.Database(path, { readOnly: true });
  try {
    const metadata = db.all("select name, value from metadata") as { name: string; value: string }[];
    const rows = db.all(
      "select zoom_level as z, tile_column as x, (1 << zoom_level) - 1 - tile_row as y, tile_data as data from tiles",
    ) as { z: number; x: number; y: number; data: Uint8Array }[];
    return {
      answer,
      metadata: Object.fromEntries(metadata.map(({ name, value }) => [name, value])),
      tiles: new Map(rows.map(({ z, x, y, data }) => [`${z}/${x}/${y}`, Buffer.from(data)])),
      images: Number(db.get("select count(*) as n from images")!.n),
      application: db.get("pragma application_id")!.application_id,
      check: db.get("pragma integrity_check")!.integrity_check,
    };
  } finally {
    db.close();
  }
}

const tile = async (z: number, x: number, y: number, query = "", map = "m") =>
  Buffer.from(await (await fetch(`${server.url}/tms/p/${map}/${z}/${x}/${y}.png${query}`)).arrayBuffer());

const nothingIsLeft = () => waitFor(() => readdirSync(temporary).length === 0);

t.test("every tile of both formats is that of the tile's address", async (t) => {
  const archive = await pmtiles("maxzoom=3");
  const database = await mbtiles("maxzoom=3");
  let drawn = 0;
  for (let z = 0; z <= 3; z++)
    for (let x = 0; x < 2 ** z; x++)
      for (let y = 0; y < 2 ** z; y++) {
        const found = await archive.getZxy(z, x, y);
        const row = database.tiles.get(`${z}/${x}/${y}`);
        const own = await tile(z, x, y);
        if (!found) {
          if (row || (await picture(own)).painted > 0) t.fail(`${z}/${x}/${y} is left out`);
          continue;
        }
        drawn++;
        if (!own.equals(Buffer.from(found.data)) || !row?.equals(own)) t.fail(`${z}/${x}/${y} differs`);
      }
  t.ok(drawn >= 4);
  t.equal(database.tiles.size, drawn);
});

t.test("the file tells what it holds", async (t) => {
  await services.db.execute("update map set name = 'Карта «1»', json = $2, comment = 'All' where id = $1", [
    mapId,
    { attribution: "© us" },
  ]);
  await services.changes.propagate();
  const answer = await get("format=pmtiles&maxzoom=2");
  t.equal(answer.headers.get("content-type"), "application/vnd.pmtiles");
  t.match(
    answer.headers.get("content-disposition"),
    /^attachment; filename="[^"]+"; filename\*=UTF-8''%D0%9A.*\.pmtiles$/,
  );
  await answer.arrayBuffer();
  const archive = await pmtiles("maxzoom=2&base=0");
  t.match(await archive.getHeader(), {
    minZoom: 0,
    maxZoom: 2,
    minLon: 5,
    minLat: 5,
    maxLon: 35,
    maxLat: 35,
  });
  t.match(await archive.getMetadata(), {
    name: "Карта «1»",
    description: "All",
    attribution: "© us",
    type: "overlay",
  });
  const { metadata, application, check, answer: other } = await mbtiles("minzoom=1&maxzoom=2");
  t.equal(other.headers.get("content-type"), "application/vnd.mbtiles");
  t.equal(application, 0x4d504258);
  t.equal(check, "ok");
  t.match(metadata, {
    name: "Карта «1»",
    format: "png",
    bounds: "5,5,35,35",
    center: /^20,20,2$/,
    minzoom: "1",
    maxzoom: "2",
    attribution: "© us, Natural Earth, GeoNames, GSHHG",
    type: "baselayer",
    version: /^\d+$/,
  });
});

t.test("box, zooms, layers and quality are those that were asked for", async (t) => {
  const { tiles, metadata } = await mbtiles("minzoom=4&maxzoom=6&fbbox=6,6,20,20");
  t.equal(metadata.bounds, "6,6,20,20");
  t.same([...new Set([...tiles.keys()].map((key) => key[0]))], ["4", "5", "6"]);
  t.same([...tiles.keys()].filter((key) => key.startsWith("4/")).sort(), ["4/8/7"]);
  const metres = await mbtiles("minzoom=4&maxzoom=4&bboxSR=3857&fbbox=700000,700000,2000000,2000000");
  t.same([...metres.tiles.keys()], ["4/8/7"]);
  const lines = await mbtiles(`minzoom=5&maxzoom=5&layers=${blue.id}&q=1`);
  for (const [key, data] of lines.tiles) {
    const [z, x, y] = key.split("/").map(Number) as [number, number, number];
    t.same(data, await tile(z, x, y, `?layers=${blue.id}&q=1`));
  }
  t.match(lines.metadata.bounds, "12,12,17,17", "the extent is that of the layers that are drawn");
});

t.test("tiles that look alike are stored once", async (t) => {
  const { tiles, images } = await mbtiles("minzoom=7&maxzoom=7&fbbox=5,5,30,30");
  t.ok(tiles.size > 60);
  t.ok(images < tiles.size / 2, `${images} images of ${tiles.size} tiles`);
  const header = await (await pmtiles("minzoom=7&maxzoom=7&fbbox=5,5,30,30")).getHeader();
  t.match(header, { numAddressedTiles: tiles.size, numTileContents: images });
  t.ok(header.numTileEntries < tiles.size);
});

t.test("a map where nothing is drawn has one empty tile", async (t) => {
  await makeMap(server, "empty");
  const archive = await pmtiles("maxzoom=2", { map: "empty" });
  t.match(await archive.getHeader(), { numAddressedTiles: 1, minZoom: 0, maxZoom: 2 });
  t.same(Buffer.from((await archive.getZxy(0, 0, 0))!.data), await tile(0, 0, 0, "", "empty"));
});

t.test("layers that the caller may not see are not drawn, nor is their extent told", async (t) => {
  const token = await server.token("admin");
  await makeMap(server, "partly");
  await makeStyledLayer(server, "partly", "seen", "#a { polygon-fill: #00ff00; }");
  await makeStyledLayer(server, "partly", "hidden", "#a { polygon-fill: #ff0000; }");
  await addObject(server, "seen", square(10, 10, 10), { map: "partly" });
  await addObject(server, "hidden", square(10, 10, 40), { map: "partly" });
  await setGrant(services.db, { project: "p", map: "partly", layer: "hidden", login: null }, 0);
  await services.changes.propagate();
  const open = await pmtiles("maxzoom=4", { map: "partly" });
  t.match(await open.getHeader(), { maxLon: 20, maxLat: 20 });
  t.same(Buffer.from((await open.getZxy(4, 8, 7))!.data), await tile(4, 8, 7, "", "partly"));
  const own = await pmtiles("maxzoom=4", { map: "partly", token });
  t.match(await own.getHeader(), { maxLon: 50, maxLat: 50 });
  t.same(Buffer.from((await own.getZxy(4, 8, 7))!.data), await tile(4, 8, 7, `?token=${token}`, "partly"));
});

t.test("who may not see the map gets no file", async (t) => {
  const closed = await makeMap(server, "closed");
  await server.sql.query("update map set has_publication = false where id = $1", [closed]);
  await services.changes.propagate();
  t.equal((await get("format=pmtiles&maxzoom=0", { map: "closed" })).status, 403);
  t.equal((await get("format=pmtiles&maxzoom=0", { map: "closed", token: "made-up" })).status, 401);
  t.equal((await get("format=pmtiles&maxzoom=0", { map: "none" })).status, 404);
  const viewer = await get("format=pmtiles&maxzoom=0", {
    map: "closed",
    token: await server.token("viewer"),
  });
  t.equal(viewer.status, 200);
  t.equal(viewer.headers.get("cache-control"), "private, no-store");
  await viewer.arrayBuffer();
});

t.test("what cannot be made is refused with the reason", async (t) => {
  for (const [query, status, code] of [
    ["", 500, "required_parameters"],
    ["format=geojson", 500, "invalid_format"],
    ["format=pmtiles&maxzoom=23", 400, undefined],
    ["format=pmtiles&minzoom=-1", 400, undefined],
    ["format=pmtiles&minzoom=3&maxzoom=2", 400, undefined],
    ["format=pmtiles&fbbox=1,2,3", 400, undefined],
    ["format=pmtiles&fbbox=3,1,2,4", 400, undefined],
  ] as const) {
    const answer = await get(query);
    t.equal(answer.status, status, query);
    if (code) t.match(await answer.json(), { code }, query);
  }
  const many = await get("format=mbtiles&fbbox=-85,-180,85,180&maxzoom=9");
  t.equal(many.status, 500);
  t.match(await many.json(), {
    code: "invalid_value",
    message: /would have 349525 tiles, and may have 1000\. .* zooms up to 4\./,
    data: { tiles: 349_525, limit: 1_000, maxzoom: 4 },
  });
  await nothingIsLeft();
});

/** Keeps everybody from reading a layer's objects, so that a metatile that is being drawn waits. @returns the release */
async function hold(layer: { readonly id: number }): Promise<() => Promise<unknown>> {
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${layer.id} in access exclusive mode`);
  return () => server.sql.query("rollback");
}

t.test("a client that leaves ends the drawing, and a second export waits for the first", async (t) => {
  const { tiles, render } = services;
  const release = await hold(red);
  const before = tiles.rendered;
  const abort = new AbortController();
  // Of the palette's quality no tile has been drawn yet.
  const query = "format=pmtiles&minzoom=6&maxzoom=8&fbbox=5,5,20,20&base=0&q=1";
  const left = get(query, { signal: abort.signal }).catch((error: Error) => error.name);
  await waitFor(() => render.counts().running > 0);
  const second = await get(query);
  t.equal(second.status, 503);
  t.match(second.headers.get("retry-after"), /^\d+$/);
  t.match(await second.text(), /not ready yet/);
  abort.abort();
  t.equal(await left, "AbortError");
  await nothingIsLeft();
  await release();
  await waitFor(() => render.counts().running === 0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.ok(tiles.rendered <= before + 1, "nothing is drawn but what had been begun");
});

t.test("exports beyond those of a project wait, others' do not, and too many are refused", async (t) => {
  const map = await services.catalog.map("p", "m");
  const ofProject = (id: number) => ({ ...map, project: { ...map.project, id } });
  const limits = { ...services.files.limits, queueLength: 2 };
  const exports = new TileExports({
    db: services.db,
    files: { ...services.files, limits },
    renderQueue: new RenderQueue({
      load: () => ({ waiting: 0, running: 0 }),
      concurrency: 1,
      timeoutMs: 60_000,
      clock: systemClock,
    }),
  });
  const begun: string[] = [];
  const go = new AbortController();
  const make = async (owner: string, of = map, signal = new AbortController().signal) => {
    const file = await exports.make({
      format: "pmtiles",
      map: of,
      caller: publicCaller,
      // A box, so that no extent is asked for.
      choice: { minZoom: 0, maxZoom: 0, box: { west: 5, south: 5, east: 20, north: 20 } },
      drawn: { base: false, layers: undefined, language: undefined, quality: 0 },
      attribution: "",
      tile: async (address, ofExport) => {
        begun.push(owner);
        if (!go.signal.aborted)
          await new Promise((resolve) => go.signal.addEventListener("abort", resolve, { once: true }));
        return services.tileAnswers.tile({
          access: async () => ({ map, caller: publicCaller }),
          address,
          signal: ofExport,
        });
      },
      owner,
      signal,
    });
    for await (const _ of file.chunks);
    return owner;
  };
  const made = ["a1", "a2", "a3"].map((owner) => make(owner));
  const leaving = new AbortController();
  const left = make("a4", map, leaving.signal);
  await t.rejects(make("a3"), { message: /not ready yet/ });
  const others = [make("b", ofProject(-1)), make("c", ofProject(-2))];
  await waitFor(() => begun.length > 0);
  await t.rejects(make("a5"), { message: /Too many exports/ });
  leaving.abort(new Error("left"));
  await t.rejects(left, { message: "left" });
  go.abort();
  t.same(await Promise.all([...made, ...others]), ["a1", "a2", "a3", "b", "c"]);
  t.equal(begun.at(-1), "a3", "the third of a project waits for its own");
  await nothingIsLeft();
});

t.test("an export of a layer whose file is gone says what to do", async (t) => {
  const admin = await server.token("admin");
  await makeMap(server, "gone");
  await makeStyledLayer(server, "gone", "photo", "");
  const image = geoTiff({
    width: 200,
    height: 200,
    value: () => [0, 0, 255],
    epsg: 3857,
    transform: [0, 10_000, 0, 2_000_000, 0, -10_000],
  });
  const imported = await fetch(`${server.url}/api/2.8/p/gone/layers/photo/import/`, {
    method: "POST",
    headers: { "x-token": admin, "x-filename": "a.tif", "content-type": "application/octet-stream" },
    body: image as never,
  });
  t.equal(imported.status, 200, await imported.text());
  const { rows } = await server.sql.query(
    "select coalesce(drawn, processed) as drawn from raster r join node n on n.id = r.layer_id where n.code = 'photo'",
  );
  await services.blobs.delete(rows[0].drawn);
  const tiles = "format=pmtiles&minzoom=0&maxzoom=0&fbbox=5,5,20,20&base=0";
  const answer = await get(tiles, { map: "gone" });
  t.equal(answer.status, 500);
  t.match(await answer.json(), {
    code: "invalid_value",
    message:
      "These layers cannot be drawn, as a file of theirs is gone or damaged: photo. Import or upload it again, or export other layers.",
    data: { parameter: "layers" },
  });
  await nothingIsLeft();
});

t.test("why an export ends is told, also where its files cannot be removed", async (t) => {
  const map = await services.catalog.map("p", "m");
  const parent = join(folder, "exports");
  mkdirSync(parent);
  const exports = new TileExports({
    db: services.db,
    files: { ...services.files, folder: parent },
    renderQueue: new RenderQueue({
      load: () => ({ waiting: 0, running: 0 }),
      concurrency: 1,
      timeoutMs: 60_000,
      clock: systemClock,
    }),
  });
  const made = exports.make({
    format: "pmtiles",
    map,
    caller: publicCaller,
    choice: { minZoom: 0, maxZoom: 0, box: { west: 5, south: 5, east: 20, north: 20 } },
    drawn: { base: false, layers: undefined, language: undefined, quality: 0 },
    attribution: "",
    tile: async () => {
      renameSync(parent, `${parent}-before`);
      writeFileSync(parent, "no folder any more");
      throw new Error("no tile can be drawn");
    },
    owner: "a",
    signal: new AbortController().signal,
  });
  await t.rejects(made, { message: "no tile can be drawn" });
});

t.test("others' tiles go before", async (t) => {
  const query = "format=pmtiles&minzoom=6&maxzoom=8&fbbox=5,5,20,20&base=0&q=1";
  const { render } = services;
  let most = 0;
  const watch = setInterval(() => {
    const { waiting, running } = render.counts();
    most = Math.max(most, waiting + running);
  }, 1);
  const answer = await get(query);
  clearInterval(watch);
  t.equal(answer.status, 200);
  await answer.arrayBuffer();
  t.equal(most, 1, "an export has one metatile at the host at a time");
});

t.test("rights count for each tile, and one who loses them gets no file", async (t) => {
  const short = await makeMap(server, "short");
  const layer = await makeStyledLayer(server, "short", "a", "#a { polygon-fill: #123456; }");
  await addObject(server, "a", square(5, 5, 15), { map: "short" });
  const release = await hold(layer);
  const answer = get("format=mbtiles&minzoom=6&maxzoom=8&fbbox=5,5,18,18", { map: "short" });
  await waitFor(() => services.render.counts().running > 0);
  await services.db.execute("update map set has_publication = false where id = $1", [short]);
  await services.changes.propagate();
  await release();
  t.equal((await answer).status, 403);
  await nothingIsLeft();
});

t.test("temporary files go with the end of the answer, and when it is not read", async (t) => {
  await (await get("format=mbtiles&maxzoom=4")).arrayBuffer();
  await nothingIsLeft();
  const abort = new AbortController();
  const answer = await get("format=pmtiles&maxzoom=4", { signal: abort.signal });
  t.equal(answer.status, 200);
  abort.abort();
  await nothingIsLeft();
  const head = await fetch(`${server.url}/api/2.8/p/m/export/?format=mbtiles&maxzoom=1`, { method: "HEAD" });
  t.equal(head.status, 200);
  t.ok(Number(head.headers.get("content-length")) > 8_192);
  await nothingIsLeft();
});

t.test("the size of the file, the room for files and the time have bounds", async (t) => {
  const map = await services.catalog.map("p", "m");
  const caller = publicCaller;
  const renderQueue = new RenderQueue({
    load: () => services.render.counts(),
    concurrency: 1,
    timeoutMs: 1_000,
    clock: systemClock,
  });
  for (const [limits, message] of [
    [{ fileBytes: 1_000 }, /larger than 1000 bytes/],
    // The database has pages and an index besides the images.
    [{ fileBytes: 10_000 }, /larger than 10000 bytes/],
    [{ totalBytes: 1_000 }, /Too many exported files/],
    [{ deadlineMs: 1 }, /too long/],
  ] as const) {
    const files = { ...services.files, limits: { ...services.files.limits, ...limits } };
    const made = new TileExports({ db: services.db, files, renderQueue }).make({
      format: "mbtiles",
      map,
      caller,
      choice: { minZoom: 0, maxZoom: 4 },
      drawn: { base: false, layers: undefined, language: undefined, quality: 0 },
      attribution: "",
      tile: (address, signal) =>
        services.tileAnswers.tile({ access: async () => ({ map, caller }), address, signal }),
      owner: "test",
      signal: new AbortController().signal,
    });
    await t.rejects(made, { message }, String(message));
  }
  await nothingIsLeft();
});

t.test("red is drawn where it is", async (t) => {
  const found = await (await pmtiles(`minzoom=6&maxzoom=6&layers=${red.id}`)).getZxy(6, 35, 29);
  t.same((await picture(new Uint8Array(found!.data))).at(128, 128), [255, 0, 0, 255]);
});
