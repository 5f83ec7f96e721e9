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
const server = createServer((request, response) => {
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
