import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import t from "tap";
import { mercatorHalf } from "../../src/geo/tile.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { type Picture, picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** External layers on tiles: images of other servers, here one of the test's own. */

const warnings: Error[] = [];
process.on("warning", (warning) => warnings.push(warning));

type Colour = readonly [number, number, number, number];
const png = (colour: Colour, width = 256, height = width) => {
  const key = `${colour} ${width} ${height}`;
  const [r, g, b, alpha] = colour;
  const known = pngs.get(key);
  if (known) return known;
  const background = { r, g, b, alpha: alpha / 255 };
  const made = sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer();
  pngs.set(key, made);
  return made;
};
const pngs = new Map<string, Promise<Buffer>>();

/** A tile of a colour by its place, so that a wrong one is seen. */
const tileColour = (z: number, x: number, y: number): Colour => [(x * 53) % 256, (y * 71) % 256, z * 10, 255];

/** What was asked for. */
const asked: string[] = [];
/** Addresses that fail now. */
let broken = false;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, "http://localhost");
  asked.push(request.url!);
  const image = async (bytes: Promise<Buffer> | Buffer, headers: Record<string, string> = {}) =>
    response.writeHead(200, { "content-type": "image/png", ...headers }).end(await bytes);
  const [, kind, ...rest] = url.pathname.split("/");
  const [z, x, y] = rest.map((part) => Number.parseInt(part, 10)) as [number, number, number];
  if (broken) return void response.writeHead(503).end();
  switch (kind) {
    case "xyz":
    case "tms": {
      const bytes = png(tileColour(z, x, y), kind === "xyz" ? 64 : 256);
      return void image(bytes, { "cache-control": "max-age=600" });
    }
    case "calm":
      await new Promise((resolve) => setTimeout(resolve, 50));
      return void image(png([7, 8, 9, 255], 16));
    case "half":
      return void image(png([0, 255, 0, 128]));
    case "wms": {
      const [width, height] = ["width", "height"].map((name) => Number(url.searchParams.get(name)));
      const right = { input: await png([0, 0, 255, 255], width! / 2, height!), left: width! / 2, top: 0 };
      const left = await png([255, 0, 0, 255], width!, height!);
      return void image(sharp(left).composite([right]).png().toBuffer());
    }
    case "absent":
      return void response.writeHead(404).end();
    case "moved":
      return void response.writeHead(302, { location: `/xyz/${rest.join("/")}` }).end();
    case "away":
      return void response.writeHead(302, { location: `http://127.0.0.1:${otherPort}/xyz/0/0/0` }).end();
    case "round":
      return void response.writeHead(302, { location: request.url! }).end();
    case "slow":
      return;
    case "page":
      return void response.writeHead(200, { "content-type": "image/png" }).end("<html>no image</html>");
    case "endless":
      response.writeHead(200, { "content-type": "image/png" });
      response.write(await png([9, 9, 9, 255]));
      return void response.write(Buffer.alloc(300_000));
    case "bomb":
      return void image(png([0, 0, 0, 255], 9_000));
    case "damaged":
      return void image((await png([9, 9, 9, 255])).subarray(0, 100));
    default:
      response.writeHead(500).end();
  }
}

const listening = async (one: Server): Promise<number> => {
  await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
  return (one.address() as AddressInfo).port;
};
const source = createServer((request, response) => void serve(request, response));
const port = await listening(source);
let otherAsked = 0;
const other = createServer((_request, response) => {
  otherAsked++;
  response.end();
});
const otherPort = await listening(other);
const host = `127.0.0.1:${port}`;
/** What goes wrong, each at a server of its own, as one that fails is left alone for a while. */
const failing = ["slow", "page", "endless", "bomb", "damaged", "round", "nothing"];
const sick = failing.map(() => createServer((request, response) => void serve(request, response)));
const ports = await Promise.all(sick.map(listening));
const retrySeconds = 3;
const config = {
  externalHosts: [host, ...ports.map((one) => `127.0.0.1:${one}`)],
  "externalLayers.privateAddresses": true,
  "externalLayers.deadlineMs": 700,
  "externalLayers.imageBytes": 200_000,
  "externalLayers.retrySeconds": retrySeconds,
  "tiles.cacheControl": "public, max-age=0, s-maxage=86400, stale-while-revalidate=60",
};
const server = await startServer({ config });
t.teardown(async () => {
  await server.stop();
  for (const one of [source, other, ...sick]) {
    one.closeAllConnections();
    one.close();
  }
});
const token = await server.token("editor");

let made = 0;
/** A map with one external layer. */
async function external(path: string, more: object = {}, css?: string, at = port): Promise<string> {
  const map = `e${++made}`;
  await makeMap(server, map);
  const body = { code: "ext", type: "external", source: { url: `http://127.0.0.1:${at}${path}`, ...more } };
  const answer = await server.api("POST", `${map}/layers/`, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  if (css !== undefined) {
    const styled = { parent_id: 0, css_style: css };
    const changed = await server.api("PATCH", `${map}/layers/ext/`, { token, body: styled });
    if (changed.status !== 200) throw new Error(changed.text);
  }
  return map;
}

async function tile(map: string, place: string, query = "base=0") {
  const answer = await fetch(`${server.url}/tms/p/${map}/${place}.png?${query}`);
  const bytes = await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(Buffer.from(bytes).toString());
  return { image: await picture(bytes), headers: answer.headers };
}

type Tap = Pick<typeof t, "ok">;
function near(t: Tap, image: Picture, [x, y]: readonly [number, number], wanted: Colour, by = 2): void {
  const found = image.at(Math.floor(x * image.width), Math.floor(y * image.height));
  t.ok(
    wanted.every((value, channel) => Math.abs(value - found[channel]!) <= by),
    `${found} for ${wanted} at ${x}, ${y}`,
  );
}
const corners = [
  [0.02, 0.02],
  [0.98, 0.02],
  [0.02, 0.98],
  [0.98, 0.98],
] as const;

t.test("tiles of XYZ and TMS services are in their places, in every density", async (t) => {
  for (const [path, row, places] of [
    ["/xyz/{z}/{x}/{y}.png", (_z: number, y: number) => y, ["0/0/0", "6/33/30"]],
    ["/tms/{z}/{x}/{-y}.png", (z: number, y: number) => 2 ** z - 1 - y, ["3/5/2"]],
  ] as const) {
    const map = await external(path);
    for (const place of places) {
      const [z, x, y] = place.split("/").map(Number) as [number, number, number];
      const { image } = await tile(map, place);
      for (const corner of corners) near(t, image, corner, tileColour(z, x, row(z, y)));
      const dense = await tile(map, place, "base=0&retina=2");
      t.equal(dense.image.width, 512);
      for (const [cx, cy] of corners) {
        const [dx, dy] = [2 * x + Math.round(cx), 2 * y + Math.round(cy)];
        near(t, dense.image, [cx, cy], tileColour(z + 1, dx, row(z + 1, dy)));
      }
      const three = await tile(map, place, "base=0&retina=3");
      t.equal(three.image.width, 768);
      near(t, three.image, [0.25, 0.75], tileColour(z + 1, 2 * x, row(z + 1, 2 * y + 1)));
    }
  }
});

t.test("beyond its last zoom a service's tiles are enlarged, before its first it is left out", async (t) => {
  const map = await external("/xyz/{z}/{x}/{y}.png", { minZoom: 2, maxZoom: 4 });
  t.equal((await tile(map, "1/0/0")).image.painted, 0);
  for (const place of ["5/17/9", "9/300/200", "22/2000000/1500000"]) {
    const [z, x, y] = place.split("/").map(Number) as [number, number, number];
    const [px, py] = [Math.floor(x / 2 ** (z - 4)), Math.floor(y / 2 ** (z - 4))];
    const { image } = await tile(map, place);
    for (const corner of corners) near(t, image, corner, tileColour(4, px, py));
  }
});

t.test("a WMS is asked for the metatile, in metres", async (t) => {
  const map = await external("/wms?service=WMS&layers=a,b&STYLES=");
  asked.length = 0;
  const { image } = await tile(map, "3/4/2", "base=0&retina=2");
  t.equal(asked.length, 1);
  const query = new URL(asked[0]!, "http://localhost").searchParams;
  t.match(Object.fromEntries(query), {
    request: "GetMap",
    version: "1.3.0",
    crs: "EPSG:3857",
    layers: "a,b",
    styles: "",
    format: "image/png",
    transparent: "TRUE",
    width: "2048",
    height: "2048",
  });
  const box = query.get("bbox")!.split(",").map(Number);
  t.same(box.map(Math.round), [0, 0, mercatorHalf, mercatorHalf].map(Math.round));
  near(t, image, [0.5, 0.5], [255, 0, 0, 255]);
  near(t, (await tile(map, "3/6/2")).image, [0.5, 0.5], [0, 0, 255, 255]);
  const missing = await external("/absent?service=WMS&layers=a");
  t.equal((await tile(missing, "3/4/2")).headers.get("x-tile-incomplete"), "ext", "not found is a fault");
  const older = await external("/wms?service=WMS&version=1.1.1&layers=a&styles=&format=image/jpeg");
  asked.length = 0;
  await tile(older, "3/4/2");
  t.match(asked[0], /srs=EPSG%3A3857.*/);
  t.match(asked[0], /format=image%2Fjpeg/);
});

t.test("it is drawn under and over other layers, with its opacity", async (t) => {
  const map = await external("/half/{z}/{x}/{y}.png");
  await makeStyledLayer(server, map, "below", "#a { polygon-fill: #0000ff; }");
  await addObject(server, "below", square(-80, -80, 160), { map });
  near(t, (await tile(map, "2/1/1")).image, [0.9, 0.9], [0, 128, 127, 255]);
  await server.api("PATCH", `${map}/layers/below/`, { token, body: { parent_id: 0, sort: 1 } });
  near(t, (await tile(map, "2/1/1")).image, [0.9, 0.9], [0, 0, 255, 255]);
  near(t, (await tile(map, "2/0/1")).image, [0.1, 0.5], [0, 255, 0, 128]);
  const faint = await external("/half/{z}/{x}/{y}.png", {}, "#a[zoom>2] { raster-opacity: 0.5; }");
  near(t, (await tile(faint, "3/1/1")).image, [0.5, 0.5], [0, 255, 0, 64]);
  t.equal((await tile(faint, "2/1/1")).image.painted, 0);
});

t.test("images are kept for a while: a layer that is edited does not ask for them again", async (t) => {
  const map = await external("/xyz/{z}/{x}/{y}.png?kept");
  const { headers } = await tile(map, "7/64/64");
  t.match(
    headers.get("cache-control"),
    /^public, max-age=0, s-maxage=(600|59\d), stale-while-revalidate=60$/,
  );
  asked.length = 0;
  await makeStyledLayer(server, map, "over", "#a { polygon-fill: #ff0000; }");
  await addObject(server, "over", square(0, -3, 3), { map });
  await server.api("PATCH", `${map}/layers/over/`, { token, body: { parent_id: 0, sort: 1 } });
  near(t, (await tile(map, "7/64/64")).image, [0.5, 0.5], [255, 0, 0, 255]);
  t.same(asked, []);
});

t.test("many tiles wait for their turns, not for the deadline of a service that answers", async (t) => {
  const map = await external("/calm/{z}/{x}/{y}.png");
  const tiles = await Promise.all([0, 4, 8].map((x) => tile(map, `5/${x}/8`, "base=0&retina=2")));
  for (const { image, headers } of tiles) {
    near(t, image, [0.5, 0.5], [7, 8, 9, 255]);
    t.match(headers.get("cache-control"), /s-maxage=3(600|59\d)/);
  }
});

t.test("a place without a tile is empty, and stays so", async (t) => {
  const map = await external("/absent/{z}/{x}/{y}.png");
  const { image, headers } = await tile(map, "5/9/9");
  t.equal(image.painted, 0);
  t.match(headers.get("cache-control"), /s-maxage=3(600|59\d)/);
});

t.test("redirects are followed on the list of hosts, and not off it", async (t) => {
  const moved = await external("/moved/{z}/{x}/{y}.png");
  near(t, (await tile(moved, "3/5/2")).image, [0.5, 0.5], tileColour(3, 5, 2));
  const away = await external("/away/{z}/{x}/{y}.png");
  t.equal((await tile(away, "3/5/2")).image.painted, 0);
  t.equal(otherAsked, 0);
});

t.test("what fails is left out and named, kept nowhere, and is seen in the metrics", async (t) => {
  for (const [index, path] of failing.entries()) {
    const map = await external(`/${path}/{z}/{x}/{y}.png`, {}, undefined, ports[index]);
    await makeStyledLayer(server, map, "below", "#a { polygon-fill: #0000ff; }");
    await addObject(server, "below", square(-80, -80, 160), { map });
    const { image, headers } = await tile(map, "2/1/1");
    near(t, image, [0.9, 0.9], [0, 0, 255, 255]);
    t.match([headers.get("cache-control"), headers.get("x-tile-incomplete")], ["no-store", "ext"], path);
    await tile(map, "9/0/0");
  }
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const counted = (result: string, at: number) =>
    t.match(metrics, `mapwright_external_images_total{host="127.0.0.1:${at}",result="${result}"}`);
  counted("fetched", port);
  counted("failed", ports[0]!);
  // It is left alone then.
  counted("skipped", ports[0]!);
});

t.test("a service that fails does not take the others of its server with it", async (t) => {
  const wrong = await external("/nothing/{z}/{x}/{y}.png");
  for (const x of [0, 4, 8, 12]) t.equal((await tile(wrong, `6/${x}/0`)).image.painted, 0);
  asked.length = 0;
  t.equal((await tile(wrong, "6/16/0")).image.painted, 0);
  t.same(asked, [], "it is left alone");
  const right = await external("/xyz/{z}/{x}/{y}.png?beside");
  near(t, (await tile(right, "3/5/2")).image, [0.5, 0.5], tileColour(3, 5, 2));
});

t.test("a service that comes back is shown again", async (t) => {
  const map = await external("/xyz/{z}/{x}/{y}.png?back");
  broken = true;
  t.equal((await tile(map, "3/5/2")).image.painted, 0);
  broken = false;
  await new Promise((resolve) => setTimeout(resolve, 1_000 * retrySeconds + 50));
  near(t, (await tile(map, "3/5/2")).image, [0.5, 0.5], tileColour(3, 5, 2));
});

t.test("a service can be the base map of a project", async (t) => {
  await makeMap(server, "based");
  const base = { kind: "tiles", url: `http://${host}/xyz/{z}/{x}/{y}.png`, attribution: "Somebody" };
  await server.sql.query("update project set base_map = $1 where code = 'p'", [base]);
  await server.nodes[0]!.services.changes.propagate();
  near(t, (await tile("based", "3/5/2", "")).image, [0.5, 0.5], tileColour(3, 5, 2));
  t.equal((await tile("based", "3/5/2")).image.painted, 0);
  const json = await (await fetch(`${server.url}/tms/p/based/tile.json`)).json();
  t.equal((json as { attribution: string }).attribution, "Somebody");
});

t.test("nothing of it warns of a leak", async (t) => {
  t.same(
    warnings.map(({ message }) => message),
    [],
  );
});
