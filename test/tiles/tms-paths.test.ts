import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { makeClosedMap, makeKey } from "../api/tile-keys.support.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { openPage, startBrowser } from "../viewer/support.js";

/** Tiles whose rows are counted from the south by their path, and the document by which GDAL finds them. */

const server = await startServer();
t.teardown(() => server.stop());
const run = promisify(execFile);
await makeMap(server, "m");
await makeMap(server, "tms");
await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #ff0000; }");
await addObject(server, "l", square(10, 50, 10), { map: "m" });
const tms = `${server.url}/tms/p/m`;

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${tms}/${path}`, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, body };
}

t.test("the tile of a row from the south is that of the row from the north", async (t) => {
  for (const [south, north] of [
    ["tms/6/33/42.png?base=0", "6/33/21.png?base=0"],
    ["tms/6/33/42@2x.png?base=0", "6/33/21@2x.png?base=0"],
    ["tms/6/33/42.webp?base=0", "6/33/21.webp?base=0"],
    ["tms/6/33/42.mvt", "6/33/21.mvt"],
    ["tms/0/0/0.png", "0/0/0.png"],
  ] as const) {
    const [one, other] = [await get(south), await get(north)];
    t.equal(one.status, 200, south);
    t.same(one.body, other.body, south);
    for (const name of ["etag", "content-type", "cache-control"])
      t.equal(one.headers.get(name), other.headers.get(name), `${name} of ${south}`);
    const etag = one.headers.get("etag")!;
    t.equal((await get(south, { "if-none-match": etag })).status, 304);
  }
  t.same((await picture((await get("tms/6/33/42.png?base=0")).body)).at(200, 128), [255, 0, 0, 255]);
  t.equal((await get("tms/6/33/64.png")).status, 400, "no such row");
  t.equal((await get("tms/6/33/x.png")).status, 400);
  t.equal((await get("tms/6/33")).status, 400, "as any path of a tile that is none");
  t.equal((await fetch(`${server.url}/tms/p/tms/tms/0/0/0.png`)).status, 200, "a map of that code");
});

t.test("GDAL finds the tiles by the document, each at its place", async (t) => {
  const answer = await get("tms/tilemapresource.xml");
  t.equal(answer.headers.get("content-type"), "text/xml; charset=utf-8");
  t.match(answer.headers.get("cache-control"), /no-cache/);
  const { stdout } = await run("gdalinfo", ["-json", `${tms}/tms/tilemapresource.xml`], { timeout: 60_000 });
  const info = JSON.parse(stdout);
  t.equal(info.stac?.["proj:epsg"] ?? 3857, 3857);
  t.match(info.coordinateSystem.wkt, /3857/);
  t.ok(Math.abs(info.cornerCoordinates.upperLeft[0] + 20037508.342789244) < 0.01);
  t.ok(Math.abs(info.cornerCoordinates.upperLeft[1] - 20037508.342789244) < 0.01);
  t.equal(info.size[0], 256 * 2 ** 22);
  const folder = await mkdtemp(join(tmpdir(), "tms-"));
  t.teardown(() => rm(folder, { recursive: true }));
  // 10 to 20 degrees east, 50 to 60 north, and what is west of it.
  const box = ["0", "8399737.89", "2226389.82", "6446275.84"];
  const file = join(folder, "a.png");
  const args = [
    "-of",
    "PNG",
    "-projwin",
    ...box,
    "-outsize",
    "64",
    "64",
    `${tms}/tms/tilemapresource.xml`,
    file,
  ];
  await run("gdal_translate", args, { timeout: 120_000 });
  const drawn = await picture(await readFile(file));
  const isRed = ([red, green]: readonly number[]) => red! > 240 && green! < 20;
  t.ok(isRed(drawn.at(48, 40)), "the square is east");
  t.notOk(isRed(drawn.at(16, 40)), "and nothing of it is west");
});

t.test("GDAL shows a private map by a key alone, which the document has in its addresses", async (t) => {
  await makeClosedMap(server, "closed");
  const { key } = await makeKey(server, "closed", await server.token("viewer"));
  const address = `${server.url}/tms/p/closed/tms/tilemapresource.xml`;
  const byKey = await (await fetch(`${address}?key=${key}&f=webp`)).text();
  t.ok(byKey.includes(`extension="webp?key=${key}"`), byKey.slice(0, 1_000));
  const byToken = await fetch(address, { headers: { "x-token": await server.token("viewer") } });
  t.match(await byToken.text(), /extension="png"/);
  t.notMatch(
    String((await get(`tms/tilemapresource.xml?key=${key}`)).body),
    /key=/,
    "a public map needs none",
  );
  const folder = await mkdtemp(join(tmpdir(), "tms-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, "closed.png");
  // 0 to 20 degrees east and north; the red square is at 5 to 15.
  const box = ["0", "2273030.93", "2226389.82", "0"];
  const size = ["-outsize", "64", "64"];
  await run("gdal_translate", ["-of", "PNG", "-projwin", ...box, ...size, `${address}?key=${key}`, file], {
    timeout: 120_000,
  });
  const [red = 0, green = 255] = (await picture(await readFile(file))).at(32, 32);
  t.ok(red > 240 && green < 20, "the square in its middle");
});

t.test("Leaflet with rows from the south shows the map", async (t) => {
  const browser = await startBrowser(t);
  const { page, requests } = await openPage(browser, `${server.url}/#project=p&map=m&z=5&lat=55&lon=15`);
  // The viewer's own has only the parts that it uses.
  const whole = await readFile(createRequire(import.meta.url).resolve("leaflet/dist/leaflet.js"), "utf8");
  await page.evaluate(
    `(() => { const own = L;\n${whole}\n; globalThis.whole = globalThis.L; globalThis.L = own; })()`,
  );
  await page.evaluate(
    `whole.tileLayer("${tms}/tms/{z}/{x}/{y}.png?base=0", { tms: true, maxZoom: 22, className: "south" })
       .addTo(whole.map(document.querySelector("#map").appendChild(Object.assign(document.createElement("div"),
         { style: "position:absolute;inset:0;z-index:9999", id: "other" }))).setView([55, 15], 5))`,
  );
  await page.waitForSelector("#other .leaflet-tile-loaded");
  await page.waitForTimeout(500);
  const shown = await picture(await page.screenshot());
  t.ok(requests.some((address) => address.includes("/tms/5/17/")));
  const [red = 0, green = 255] = shown.at(640, 400);
  t.ok(red > 240 && green < 20, "the square in its middle");
});

t.test("names may hold anything", async (t) => {
  const token = await server.token("admin");
  await server.api("PATCH", "m/", { token, body: { name: '<b> & "c" \u0001', group_layers: 0 } });
  t.match(
    String((await get("tms/tilemapresource.xml?f=webp")).body),
    /<Title>&lt;b&gt; &amp; &quot;c&quot; \ufffd<\/Title>/,
  );
  t.match(
    String((await get("tms/tilemapresource.xml?f=webp")).body),
    /mime-type="image\/webp" extension="webp"/,
  );
  t.equal((await get("tms/tilemapresource.xml?f=gif")).status, 400);
});
