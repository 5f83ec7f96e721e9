import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { SignJWT } from "jose";
import t from "tap";
import { createLog } from "../../src/log.js";
import { startNode } from "../../src/node.js";
import { addObject, makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { pngOf } from "../support/png.js";
import { geoTiff } from "../support/rasters.js";
import { S3Link } from "../support/s3-link.js";
import { s3rver, startS3, useS3 } from "../support/s3-servers.js";
import { startServer, type TestServer, waitFor } from "../support/server.js";
import { makeFileLayer, makeObject, send } from "./files.support.js";

/** Two machines that share a database, Redis and an S3 store, and no folder: what one has taken, the other gives out. */

const lines: string[] = [];
const log = createLog(
  "info",
  "test",
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);

const store = await startS3(t, s3rver);
useS3(store);
const bucket = await store.bucket();
const first = await startServer({ config: { blobs: `s3://${bucket}/maps` }, log });
t.teardown(() => first.stop());

/** Another machine: the same settings, and a data folder of its own. */
async function startMachine(more: Readonly<Record<string, unknown>> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-machine-"));
  const { config } = first.nodes[0]!.services;
  const node = await startNode({ ...config, port: 0, dataDir, ...more }, log);
  await node.services.render.whenReady();
  t.teardown(async () => {
    await node.stop(2_000);
    await rm(dataDir, { recursive: true, force: true });
  });
  return { node, url: `http://127.0.0.1:${node.port}`, dataDir };
}

const second = await startMachine();
/** The second machine in the place of the first. */
const there: TestServer = { ...first, url: second.url, urls: [second.url] };
const [admin, editor] = [await first.token("admin"), await first.token("editor")];
await makeMap(first, "m");
await makeFileLayer(first, "l");

async function importImage(
  server: TestServer,
  layer: string,
  colour: readonly number[],
  map = "m",
): Promise<Response> {
  const image = {
    ...{ width: 64, height: 64, epsg: 3857 },
    transform: [-10_000_000, 312_500, 0, 10_000_000, 0, -312_500],
    value: () => colour,
  };
  return fetch(`${server.url}/api/2.8/p/${map}/layers/${layer}/import/`, {
    method: "POST",
    headers: { "x-token": editor, "x-filename": "a.tif", "content-type": "application/octet-stream" },
    body: geoTiff(image) as never,
  });
}

/** The middle of a tile that nobody else has asked for. */
async function middle(server: TestServer, map: string, query: string) {
  const answer = await fetch(tileUrl(server, map, { lon: 1, lat: 1, z: 2 }, `&base=0${query}`));
  return {
    status: answer.status,
    incomplete: answer.headers.get("x-tile-incomplete"),
    control: answer.headers.get("cache-control"),
    colour: (await picture(await answer.arrayBuffer())).at(128, 128),
  };
}

t.test(
  "a file that one has taken is given out by the other, in parts, too, and gone when it is deleted",
  async (t) => {
    const id = await makeObject(first, "l");
    const bytes = Buffer.alloc(300_000, "attached ");
    const { status, json: file } = await send(first, `l/objects/${id}`, { bytes });
    t.equal(status, 200);
    const get = (headers = {}) =>
      fetch(`${second.url}${file.path}`, { headers: { "x-token": editor, ...headers } });
    t.ok(Buffer.from(await (await get()).arrayBuffer()).equals(bytes));
    const part = await get({ range: "bytes=100-109" });
    t.equal(part.status, 206);
    t.equal(await part.text(), bytes.subarray(100, 110).toString());
    const path = `m/layers/l/objects/${id}/files/${file.id}/?field=files`;
    t.equal((await first.api("DELETE", path, { token: editor })).status, 200);
    t.equal((await get()).status, 404);
    t.notOk((await readdir(second.dataDir)).includes("files"));
  },
);

t.test("a raster that one has taken is drawn and exported by the other", async (t) => {
  await makeMap(first, "raster");
  for (const [index, [taking, giving]] of [
    [first, there],
    [there, first],
  ].entries()) {
    const layer = `r${index}`;
    await makeStyledLayer(first, "m", layer, "");
    const taken = await importImage(taking!, layer, [200, 10, 20 + index]);
    t.equal(taken.status, 200, await taken.text());
    const { json } = await first.api("GET", `m/layers/${layer}/`, { token: editor });
    const drawn = await middle(giving!, "m", `&layers=${json.id}`);
    t.match(drawn, { status: 200, incomplete: null });
    for (const [channel, value] of [200, 10, 20 + index].entries())
      t.ok(Math.abs(drawn.colour[channel]! - value) < 4, `${drawn.colour}`);
    const exported = await fetch(`${giving!.url}/api/2.8/p/m/layers/${layer}/export/?format=geotif`, {
      headers: { "x-token": editor },
    });
    t.equal(exported.status, 200);
    t.match(
      Buffer.from(await exported.arrayBuffer())
        .subarray(0, 2)
        .toString(),
      /II|MM/,
    );
  }
});

t.test("a picture that one has taken is drawn and given out by the other", async (t) => {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><path d="M0 0h64v64H0z" fill="#0a0bc8"/></svg>`;
  const put = await fetch(`${first.url}/api/2.8/p/pictures/a.svg`, {
    method: "PUT",
    headers: { "content-type": "image/svg+xml", "x-token": admin },
    body: svg,
  });
  t.equal(put.status, 200);
  await makeMap(first, "drawn");
  await makeStyledLayer(first, "drawn", "s", "#s { marker-file: url('a.svg'); marker-allow-overlap: true; }");
  await addObject(first, "s", { type: "Point", coordinates: [45, 40] }, { map: "drawn" });
  const drawn = await middle(there, "drawn", "");
  t.match(drawn, { status: 200, incomplete: null });
  t.same(drawn.colour, [10, 11, 200, 255]);
});

t.test("an import that one runs is told by the other, with what came of it", async (t) => {
  const collection = JSON.stringify({
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: { a: 1 }, geometry: { type: "Point", coordinates: [1, 2] } }],
  });
  await makeStyledLayer(first, "m", "later", "");
  const begun = await fetch(`${first.url}/api/2.8/p/m/layers/later/import/?async=1`, {
    method: "POST",
    headers: { "x-token": editor, "x-filename": "a.geojson", "content-type": "application/octet-stream" },
    body: collection,
  });
  t.equal(begun.status, 202);
  const { id } = (await begun.json()) as { id: string };
  for (let state = "running"; state === "running"; ) {
    const job = await fetch(`${second.url}/api/2.8/p/m/layers/later/import/${id}/`, {
      headers: { "x-token": editor },
    });
    ({ state } = (await job.json()) as { state: string });
    if (state !== "running") t.equal(state, "done");
  }
  const exported = await fetch(`${second.url}/api/2.8/p/m/layers/later/export/?format=geojson`, {
    headers: { "x-token": editor },
  });
  t.match(await exported.json(), { features: [{ properties: { a: 1 } }] });
});

t.test(
  "while the store is away, files are answered 503, and tiles name what they lack and are not kept",
  async (t) => {
    const link = await S3Link.to(store.url);
    t.teardown(() => link.close());
    useS3({ ...store, url: link.url });
    t.teardown(() => useS3(store));
    const away = await startMachine();
    const machine: TestServer = { ...first, url: away.url, urls: [away.url] };
    const health = async () => (await fetch(`${away.url}/health/ready`)).json() as Promise<any>;
    const id = await makeObject(first, "l");
    const { json: file } = await send(first, `l/objects/${id}`, { bytes: "attached" });
    const get = () => fetch(`${away.url}${file.path}`, { headers: { "x-token": editor } });
    t.equal(await (await get()).text(), "attached");
    await makeMap(first, "lacking");
    await makeStyledLayer(first, "lacking", "image", "");
    t.equal((await importImage(first, "image", [1, 100, 200], "lacking")).status, 200);
    link.set({ status: 503, times: Number.POSITIVE_INFINITY });
    lines.length = 0;
    t.equal((await get()).status, 503);
    t.equal((await send(machine, `l/objects/${id}`, { bytes: "more" })).status, 503);
    const refused = await importImage(machine, "image", [3, 2, 1], "lacking");
    t.match(await refused.json(), { code: "busy", message: /store of files/ });
    t.match(await middle(machine, "lacking", ""), { status: 200, incomplete: /image/, control: "no-store" });
    await waitFor(async () => !(await health()).checks.files);
    t.match(lines.join(""), /The S3 store failed/);
    link.set();
    await waitFor(async () => (await health()).checks.files);
    // A layer that could not be drawn is tried again after some seconds.
    await waitFor(async () => (await middle(machine, "lacking", "")).incomplete === null);
    t.equal(await (await get()).text(), "attached");
    t.notOk(lines.join("").includes(store.secret));
  },
);

t.test("both are ready, and a machine with another store, an empty one or none says so", async (t) => {
  const health = async (url: string) => (await fetch(`${url}/health/ready`)).json();
  const id = await makeObject(first, "l");
  await makeStyledLayer(first, "m", "elsewhere", "");
  const { json: note } = await send(first, `l/objects/${id}`, { bytes: "a note" });
  const { json: long } = await send(first, `l/objects/${id}`, { bytes: Buffer.alloc(300_000, "long ") });
  const { json: photo } = await send(first, `l/objects/${id}`, { bytes: pngOf(9, 9), name: "a.png" });
  const read = [note.path, long.path, `/api/2.8/p/image/${photo.uuid}/?w=7`];
  for (const { url } of [first, second])
    t.match(await health(url), { status: "ready", checks: { files: true } });
  t.ok(/^maps\/installation$/m.test((await store.contents(bucket)).objects.join("\n")));
  for (const [blobs, said] of [
    [`s3://${bucket}/other`, /bucket of files is not this installation's/],
    ["", /folder of files is not this installation's/],
    ["s3://no-such-bucket/maps", /NoSuchBucket/],
  ] as const) {
    lines.length = 0;
    const wrong = await startMachine({ blobs });
    t.match(lines.join(""), said, "at the start");
    t.match(await health(wrong.url), { status: "degraded", checks: { files: false }, hint: /doctor/ });
    const machine: TestServer = { ...first, url: wrong.url, urls: [wrong.url] };
    t.equal((await send(machine, `l/objects/${id}`, { bytes: "nowhere" })).status, 503);
    t.equal((await importImage(machine, "elsewhere", [1, 2, 3])).status, 503);
    for (const path of read) {
      const answer = await fetch(wrong.url + path, { headers: { "x-token": editor } });
      t.equal(answer.status, 503, path);
      t.match(await answer.json(), { code: "busy", message: /store of files/ });
    }
    if (blobs === "") t.notOk((await readdir(wrong.dataDir)).includes("files"), "nothing was written there");
  }
  t.notOk(lines.join("").includes(store.secret));
});

t.test("icons and keys that its operator puts into the bucket are every machine's", async (t) => {
  const put = (name: string, Body: string) =>
    store.client.send(new PutObjectCommand({ Bucket: bucket, Key: `maps/${name}`, Body }));
  const secret = "0123456789abcdef0123456789abcdef";
  await put(
    "icons/ship.svg",
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>',
  );
  await put("keys/p/portal.secret", secret);
  await put("keys/p/.hidden/outside.secret", secret);
  const { dataDir, url } = await startMachine();
  const machine: TestServer = { ...first, url, urls: [url] };

  const body = { code: "ships", css_style: "#ships { marker-file: url(icon:ship); }" };
  const post = (server: TestServer) =>
    fetch(`${server.url}/api/2.8/p/m/layers/`, {
      method: "POST",
      headers: { "x-token": admin, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  t.match(await (await post(first)).json(), { code: "invalid_style" }, "it was started before");
  t.equal((await post(machine)).status, 200);

  const claims = { sub: "editor", aud: "p", exp: Math.floor(Date.now() / 1_000) + 3_600 };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret));
  const login = (url: string) =>
    fetch(`${url}/api/2.8/p/ext-login/`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
  t.equal((await login(url)).status, 200);

  const copies = join(dataDir, "store-copies");
  const own = (await readdir(join(copies, "keys")))[0]!;
  t.same(await readdir(join(copies, "keys", own, "p")), ["portal.secret"]);
  t.same(await readdir(join(copies, "icons")), [], "icons are read at the start");
});
