import { randomBytes } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import sharp from "sharp";
import t from "tap";
import { RasterServices } from "../../src/external/services.js";
import type { MosaicRequest } from "../../src/hosts/messages.js";
import { mosaic } from "../../workers/image/mosaic.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** Raster services of others that are slow, and what the tiles do that wait for them. */

const image = (colour: string, side = 16) =>
  sharp({ create: { width: side, height: side, channels: 4, background: colour } })
    .png()
    .toBuffer();
const red = await image("red");
/** Requests for paths that begin with `/slow`, which nobody answers. */
const open = new Set<ServerResponse>();
/** What paths that begin with `/broken` give, and how often they were asked for. */
const broken: { bytes: Buffer; asked: number } = { bytes: red, asked: 0 };
const server = createServer((request, response) => {
  if (request.url!.startsWith("/broken")) {
    broken.asked++;
    return void response.end(broken.bytes);
  }
  if (!request.url!.startsWith("/slow")) return void response.end(red);
  open.add(response);
  response.on("close", () => open.delete(response));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

const call = async (_kind: unknown, request: unknown) => mosaic(request as MosaicRequest);
const start = (hosts = [host], maxWaiting = 3) =>
  new RasterServices(
    {
      hosts,
      privateAddresses: true,
      deadlineMs: 60_000,
      maxBytes: 1_000_000,
      connections: 2,
      memoryBytes: 1_000_000,
      ageSeconds: 60,
      maxAgeSeconds: 60,
      retrySeconds: 60,
      maxWaitMs: 60_000,
      maxWaiting,
    },
    { image: { call: call as never }, log: quietLog, onImage: () => undefined },
  );
const services = start();
t.teardown(() => {
  services.close();
  server.closeAllConnections();
  server.close();
});
const service = (path: string) => ({ url: `http://${host}${path}`, minZoom: null, maxZoom: null });
const area = (x: number) => ({ origin: { z: 10, x, y: 8 }, count: 1, scale: 1 as const });
const never = { client: "", signal: new AbortController().signal };

t.test("tiles that nobody waits for leave their places, and the connections of the service", async (t) => {
  const leave = new AbortController();
  const slow = service("/slow/{z}/{x}/{y}.png");
  const left = [0, 1, 2].map((x) => services.image(slow, area(x), { client: "", signal: leave.signal }));
  const outcomes = Promise.allSettled(left);
  await waitFor(async () => open.size === 2);
  await t.rejects(services.image(slow, area(3), never), { code: "busy" }, "all places are taken");
  leave.abort(new Error("the viewer left"));
  for (const one of await outcomes)
    t.match(one, { status: "rejected", reason: { message: "the viewer left" } });
  await waitFor(async () => open.size === 0);
  const fine = await services.image(service("/red/{z}/{x}/{y}.png"), area(0), never);
  t.equal(fine.isPartial, false);
  t.same([...fine.image!.pixels.subarray(0, 4)], [255, 0, 0, 255]);
});

t.test("a slow service keeps those of other hosts waiting for nothing", async (t) => {
  const { port } = server.address() as AddressInfo;
  const wide = start(["127.0.0.1", "localhost"].map((name) => `${name}:${port}`));
  t.teardown(() => wide.close());
  const leave = new AbortController();
  const slow = { ...service("/slow/{z}/{x}/{y}.png"), owner: "p1" };
  const own = [0, 1, 2].map((x) => wide.image(slow, area(x), { client: "", signal: leave.signal }));
  const outcomes = Promise.allSettled(own);
  await waitFor(async () => open.size === 2);
  const elsewhere = {
    ...service("/red/{z}/{x}/{y}.png"),
    url: `http://localhost:${port}/red/{z}/{x}/{y}.png`,
  };
  const fine = await wide.image({ ...elsewhere, owner: "p2" }, area(0), never);
  t.equal(fine.isPartial, false);
  leave.abort(new Error("the viewer left"));
  t.match((await outcomes).at(-1), { status: "rejected", reason: { code: "busy" } });
  await waitFor(async () => open.size === 0);
});

t.test("projects take turns at a slow service", async (t) => {
  const roomy = start([host], 10);
  t.teardown(() => roomy.close());
  const leave = new AbortController();
  const slow = { ...service("/slow/{z}/{x}/{y}.png"), owner: "p1" };
  const own = Promise.allSettled(
    [0, 1, 2, 3].map((x) => roomy.image(slow, area(x), { client: "", signal: leave.signal })),
  );
  await waitFor(() => open.size === 2);
  const other = roomy.image({ ...service("/red/{z}/{x}/{y}.png"), owner: "p2" }, area(8), never);
  const [first] = open;
  first!.end(red);
  t.equal((await other).isPartial, false, "another project has the next turn");
  leave.abort(new Error("the viewer left"));
  await own;
  await waitFor(() => open.size === 0);
});

t.test("clients of a project take turns at a slow service", async (t) => {
  const roomy = start([host], 10);
  t.teardown(() => roomy.close());
  const leave = new AbortController();
  const slow = { ...service("/slow/{z}/{x}/{y}.png"), owner: "p1" };
  const anna = { client: "a1", signal: leave.signal };
  const own = Promise.allSettled([0, 1, 2, 3].map((x) => roomy.image(slow, area(x), anna)));
  await waitFor(() => open.size === 2);
  const bob = { ...never, client: "a2" };
  const other = roomy.image({ ...service("/red/{z}/{x}/{y}.png"), owner: "p1" }, area(8), bob);
  const [first] = open;
  first!.end(red);
  t.equal((await other).isPartial, false, "another client has the next turn");
  leave.abort(new Error("the viewer left"));
  await own;
  await waitFor(() => open.size === 0);
});

t.test("an image that several wait for is got at the turn of whoever comes first", async (t) => {
  const roomy = start([host], 10);
  t.teardown(() => roomy.close());
  const leave = new AbortController();
  const leaving = { client: "", signal: leave.signal };
  const slow = { ...service("/slow/{z}/{x}/{y}.png"), owner: "p1" };
  const shared = service("/red/{z}/{x}/{y}.png");
  const own = Promise.allSettled([0, 1, 2, 3].map((x) => roomy.image(slow, area(x), leaving)));
  await waitFor(() => open.size === 2);
  const patient = roomy.image({ ...shared, owner: "p1" }, area(9), never);
  const left = roomy.image({ ...shared, owner: "p2" }, area(9), leaving);
  const other = roomy.image({ ...shared, owner: "p2" }, area(9), never);
  const [first] = open;
  first!.end(red);
  t.equal((await other).isPartial, false, "another project's turn is next, though it asked later");
  t.equal((await patient).isPartial, false, "and all who wait get it");
  t.equal((await left).isPartial, false);
  leave.abort(new Error("the viewer left"));
  await own;
  await waitFor(() => open.size === 0);
  const after = await Promise.all([0, 1, 2].map((x) => roomy.image(shared, area(x), never)));
  t.same(
    new Set(after.map(({ isPartial }) => isPartial)),
    new Set([false]),
    "all connections are free again",
  );
});

t.test("an image that somebody else waits for goes on", async (t) => {
  const leave = new AbortController();
  const slow = service("/slow/both/{z}/{x}/{y}.png");
  const left = services.image(slow, area(0), { client: "", signal: leave.signal });
  const stays = services.image(slow, area(0), never);
  await waitFor(async () => open.size === 1);
  leave.abort(new Error("the viewer left"));
  await t.rejects(left, { message: "the viewer left" });
  t.equal(open.size, 1);
  for (const response of open) response.end(red);
  t.equal((await stays).isPartial, false);
});

/** Of pixels that do not compress, so that half of its bytes are half of its rows. */
const noise = sharp(randomBytes(64 * 64 * 4), { raw: { width: 64, height: 64, channels: 4 } });
const damage = {
  "a PNG that is cut": noise.clone().png().toBuffer().then(half),
  "a JPEG that is cut": noise.clone().jpeg().toBuffer().then(half),
  "a WebP that is cut": noise.clone().webp({ lossless: true }).toBuffer().then(half),
  "a PNG with other bytes in it": noise
    .clone()
    .png()
    .toBuffer()
    .then((bytes) => bytes.fill(7, bytes.length / 2, bytes.length / 2 + 100)),
};
function half(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.length / 2);
}

for (const [name, bytes] of Object.entries(damage))
  t.test(`${name} is not kept, and its service left alone after three`, async (t) => {
    const fresh = start();
    t.teardown(() => fresh.close());
    const wanted = service(`/broken/${encodeURIComponent(name)}/{z}/{x}/{y}.png`);
    Object.assign(broken, { bytes: await bytes, asked: 0 });
    t.match(await fresh.image(wanted, area(0), never), { image: undefined, isPartial: true });
    broken.bytes = red;
    for (const x of [0, 1, 0]) t.match(await fresh.image(wanted, area(x), never), { isPartial: false });
    t.equal(broken.asked, 3, "it is asked for again, and then kept");
    broken.bytes = await bytes;
    for (const x of [2, 3, 4, 5]) t.equal((await fresh.image(wanted, area(x), never)).isPartial, true);
    t.equal(broken.asked, 6);
  });

t.test("of several images the damaged ones are asked for again", async (t) => {
  const fresh = start();
  t.teardown(() => fresh.close());
  const wanted = service("/broken/some/{z}/{x}/{y}.png");
  const two = { ...area(0), count: 2 };
  Object.assign(broken, { bytes: red, asked: 0 });
  for (const x of [0, 1]) await fresh.image(wanted, area(x), never);
  broken.bytes = await damage["a PNG that is cut"];
  t.match(await fresh.image(wanted, two, never), { image: Object, isPartial: true });
  broken.bytes = red;
  t.match(await fresh.image(wanted, two, never), { isPartial: false });
  t.equal(broken.asked, 6, "those that came well are kept");
});

t.test("damaged images among good ones leave their service to others", async (t) => {
  const fresh = start();
  t.teardown(() => fresh.close());
  const wanted = service("/broken/few/{z}/{x}/{y}.png");
  const four = { ...area(0), count: 4 };
  broken.bytes = red;
  await fresh.image(wanted, area(0), never);
  broken.bytes = await damage["a PNG that is cut"];
  for (let times = 0; times < 3; times++)
    t.match(await fresh.image(wanted, four, never), { image: Object, isPartial: true });
  broken.bytes = red;
  t.match(await fresh.image(wanted, area(9), never), { isPartial: false });
});

t.test("images that are too large together are not to blame", async (t) => {
  const large = await image("blue", 2_048);
  const whole = { columns: 8, left: 0, top: 0, side: 8, pixels: 2_048 };
  const pieces = [large, ...Array.from({ length: 63 }, () => null)];
  t.same(await mosaic({ pieces, ...whole }), { ok: false, isTooLarge: true });
});

t.test("the size of a mosaic is that of most of its images", async (t) => {
  const large = await image("blue", 64);
  const pieces = [await image("red", 1), large, large, large];
  const whole = { columns: 2, left: 0, top: 0, side: 2, pixels: 128 };
  const made = await mosaic({ pieces, ...whole });
  if (!made.ok) throw new Error("no mosaic");
  const at = (x: number, y: number) => [...made.pixels.subarray(4 * (y * 128 + x), 4 * (y * 128 + x) + 4)];
  t.same(at(60, 60), [255, 0, 0, 255]);
  t.same(at(67, 60), [0, 0, 255, 255], "edges stay where they are");
  t.same(at(64, 64), [0, 0, 255, 255]);
});
