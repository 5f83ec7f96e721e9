import { createRequire } from "node:module";
import sharp from "sharp";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { ChangeCount } from "../../src/changes/count.js";
import { systemClock } from "../../src/clock.js";
import { AddressCache } from "../../src/tiles/address-cache.js";
import { type TileFormat, tileFormats } from "../../src/tiles/formats.js";
import { Packing } from "../../src/tiles/packing.js";
import { packTile } from "../../workers/render/pack.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Tiles that many ask for are packed more closely, and stay the same tiles. */

const server = await startServer({ nodes: 2, config: { "tiles.packHot": true } });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
await makeMap(server, "m");
await makeStyledLayer(
  server,
  "m",
  "a",
  "#a { polygon-fill: #ff0000; polygon-opacity: 0.5; line-color: #123; line-width: 2.3; line-smooth: 0.7; }",
);
for (let count = 0; count < 40; count++)
  await addObject(server, "a", square(5 + Math.sin(count) / 3, 5 + Math.cos(count) / 3, count / 50), {
    map: "m",
  });

const place = { lon: 5.1, lat: 5.1, z: 8 };
interface Got {
  readonly status: number;
  readonly etag: string;
  readonly body: Buffer;
}
async function get(url: string, headers: Record<string, string> = {}): Promise<Got> {
  const answer = await fetch(url, { headers });
  const body = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, etag: answer.headers.get("etag") ?? "", body };
}
const pixels = (body: Buffer) => sharp(body).ensureAlpha().raw().toBuffer();
/** Asks for a tile often. */
async function heat(url: string): Promise<Got> {
  const first = await get(url);
  for (let count = 0; count < 20; count++) await get(url);
  return first;
}
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${server.urls[0]}/metrics`)).text();
  return Number(new RegExp(`^mapwright_${name} (\\d+)`, "m").exec(text)?.[1]);
};

for (const query of ["&base=0", "&base=0&q=1", "&base=0&f=webp", "&base=0&retina=2"]) {
  t.test(`a tile with many readers gets smaller, and keeps its pixels and ETag: ${query}`, async (t) => {
    const url = tileUrl(server, "m", place, query);
    const before = await heat(url);
    let after = before;
    await waitFor(async () => {
      after = await get(url);
      return after.body.length < before.body.length;
    });
    t.ok(after.body.length < before.body.length, `${before.body.length} → ${after.body.length}`);
    t.equal(after.etag, before.etag);
    t.ok((await pixels(after.body)).equals(await pixels(before.body)));
    t.equal((await get(url, { "if-none-match": before.etag })).status, 304);
    const other = await get(tileUrl(server, "m", place, query, 1));
    t.ok(other.body.equals(after.body), "other nodes have it from Redis");
    t.equal(other.etag, before.etag);
    t.ok((await metric("packed_tiles")) > 0);
    t.ok((await metric("packed_saved_bytes")) >= before.body.length - after.body.length);
  });
}

const formatOf = (name: string): TileFormat => tileFormats.find((format) => format.name === name)!;
/** The same as `tileUrl`, by XYZ. */
const addressOf = (x: number, format = "png") => ({
  coord: { z: 9, x, y: 248 },
  base: false,
  layers: undefined,
  scale: 1 as const,
  language: undefined,
  format: formatOf(format),
  quality: 0 as const,
});
const access = async () => ({ map: await services.catalog.map("p", "m"), caller: publicCaller });
const xyz = (x: number, node = 0) => `${server.urls[node]}/tms/p/m/9/${x}/248.png?base=0`;
const packed = (bytes: Uint8Array) => services.render.call("pack", { bytes }, { deadlineMs: 10_000 });

const side = 64;
const pictures: Readonly<Record<string, (x: number, y: number) => readonly number[]>> = {
  "two colours": (x) => (x % 7 === 0 ? [1, 2, 3, 255] : [0, 0, 0, 0]),
  "three colours": (x, y) => [100 * ((x + y) % 3), 7, 7, 255],
  "twelve colours": (x, y) => [20 * (x % 4), 30 * (y % 3), 9, 255 - x],
  "many colours": (x, y) => [4 * x, 4 * y, 100, 255],
  "many colours and opacities": (x, y) => [4 * x, 4 * y, 100, 255 - 3 * y],
};
for (const [name, colorAt] of Object.entries(pictures)) {
  t.test(`the pixels stay the same: ${name}`, async (t) => {
    const raw = Buffer.alloc(4 * side * side);
    for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) raw.set(colorAt(x, y), 4 * (y * side + x));
    const image = sharp(raw, { raw: { width: side, height: side, channels: 4 } });
    const png = await image.png({ compressionLevel: 0 }).toBuffer();
    const { isDone, bytes } = await packed(png);
    t.ok(isDone);
    t.ok(bytes!.length < png.length / 2, `${png.length} → ${bytes!.length}`);
    t.ok((await pixels(Buffer.from(bytes!))).equals(raw));
  });
}

t.test("a tile that was changed while it was packed is not replaced", async (t) => {
  const request = { access, address: addressOf(263) };
  const before = await get(xyz(263));
  const saved = await services.tileAnswers.pack(request, async (bytes) => {
    const answer = await packed(bytes);
    await addObject(server, "a", square(5.2, 5.2, 0.1), { map: "m" });
    return answer;
  });
  t.equal(saved, undefined);
  const after = await get(xyz(263));
  t.not(after.etag, before.etag);
  t.notOk((await pixels(after.body)).equals(await pixels(before.body)));
  t.equal((await get(xyz(263, 1))).etag, after.etag);
});

t.test("nor one that was drawn again meanwhile, nor one that is outdated", async (t) => {
  const request = { access, address: addressOf(263) };
  let drawn: Got | undefined;
  const saved = await services.tileAnswers.pack(request, async (bytes) => {
    const answer = await packed(bytes);
    await addObject(server, "a", square(5.25, 5.25, 0.1), { map: "m" });
    drawn = await get(xyz(263));
    return answer;
  });
  t.equal(saved, undefined);
  t.ok((await get(xyz(263))).body.equals(drawn!.body));
  await addObject(server, "a", square(5.3, 5.3, 0.1), { map: "m" });
  const never = () => Promise.reject(new Error("not to be packed"));
  t.equal(await services.tileAnswers.pack(request, never), undefined);
});

t.test("what was given up leaves the tile as it is, to be packed later", async (t) => {
  const request = { access, address: addressOf(263) };
  const before = await get(xyz(263));
  t.equal(await services.tileAnswers.pack(request, async () => ({ isDone: false })), undefined);
  t.ok((await get(`${xyz(263)}&again`)).body.equals(before.body));
  const saved = await services.tileAnswers.pack(request, packed);
  t.equal((await get(`${xyz(263)}&again2`)).body.length, before.body.length - saved!);
  t.equal(await services.tileAnswers.pack(request, packed), 0, "once");
});

t.test("an edit that leaves its pixels keeps it packed", async (t) => {
  const before = await get(`${xyz(263)}&kept`);
  const { rendered } = services.tiles;
  // In its buffer.
  await addObject(server, "a", square(5.634, 5.2, 0.001), { map: "m" });
  const after = await get(`${xyz(263)}&kept`);
  t.equal(services.tiles.rendered, rendered + 1, "drawn again");
  t.ok(after.body.equals(before.body));
});

t.test("packing is given up for what somebody waits for", async (t) => {
  const mapnik = createRequire(import.meta.url)("mapnik");
  const { body } = await get(xyz(264));
  let looks = 0;
  const answer = await packTile({ mapnik, isBusy: () => ++looks > 1 }, body);
  t.same([answer, looks], [{ isDone: false }, 2]);
});

t.test("nothing is packed while renders run or wait", async (t) => {
  const count = new ChangeCount();
  const addresses = new AddressCache<string>(count, 1_000_000, systemClock);
  const tile = { project: "p", map: "m", address: addressOf(263) };
  addresses.set("hot", "answer", { tile, isPackable: true, sources: [], bytes: 1 });
  addresses.set("packed", "answer", { tile, isPackable: false, sources: [], bytes: 1 });
  for (let hits = 0; hits < 30; hits++) for (const url of ["hot", "packed"]) addresses.get(url);
  const load = { waiting: 0, running: 1 };
  const asked: unknown[] = [];
  const packing = new Packing<string>({
    addresses,
    answers: {
      pack: async (request) => {
        asked.push(request.address);
        return 5;
      },
    },
    catalog: services.catalog,
    changes: { trusted: true },
    load: () => load,
    log: quietLog,
    pack: () => Promise.reject(new Error("not called")),
  });
  t.teardown(() => packing.stop());
  for (const [waiting, running] of [
    [0, 1],
    [1, 0],
  ] as const) {
    Object.assign(load, { waiting, running });
    await new Promise((resolve) => setTimeout(resolve, 700));
    t.equal(asked.length, 0);
  }
  Object.assign(load, { waiting: 0, running: 0 });
  await waitFor(async () => asked.length > 0);
  await waitFor(async () => addresses.get("hot") === undefined);
  t.same([asked.length, packing.counts], [1, { tiles: 1, savedBytes: 5 }]);
});
