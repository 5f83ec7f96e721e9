import { request as ask, createServer } from "node:http";
import sharp from "sharp";
import t from "tap";
import { type FrontCache, freePort, startVarnish } from "../../bench/caches.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { randomNumbers } from "../support/random.js";
import { startServer, waitFor } from "../support/server.js";

/** A real Varnish in front of two nodes: it never shows what an edit has made old, and keeps nearly all else. */

// Hundreds of tiles are looked at after each edit.
t.setTimeout(900_000);

const port = await freePort();
/** One whose address is there before it is, and that can be cut off from Mapwright while its clients reach it. */
const lostPort = await freePort();
const way = await startWay(lostPort);
t.teardown(() => way.stop());
const server = await startServer({
  nodes: 2,
  config: {
    "edge.kind": "varnish",
    "edge.urls": [`http://127.0.0.1:${port}`, way.url],
    trustedProxies: ["127.0.0.1"],
  },
});
t.teardown(() => server.stop());
const cache: FrontCache = await startVarnish(port, server.nodes[1]!.port);
t.teardown(() => cache.stop());
const { api, sql } = server;
const token = await server.token("editor");

/** The tile at the CDN, and whether it was kept there. */
async function get(path: string, headers: Record<string, string> = {}, { url } = cache) {
  const answer = await fetch(`${url}${path}`, { headers });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return {
    status: answer.status,
    headers: answer.headers,
    bytes,
    isHit: answer.headers.get("x-cache") === "hit",
  };
}

/** Resolves when the CDN was told of all that is committed. At first it may take long, while Varnish starts. */
async function told(): Promise<void> {
  for (const until = Date.now() + 120_000; ; ) {
    const [count] = (await sql.query("select count(*) from edge_outdated")).rows;
    if (Number(count.count) === 0) return;
    if (Date.now() > until) throw new Error("the CDN was not told");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

await makeMap(server, "m");
const { id: pointLayer } = await makeStyledLayer(
  server,
  "m",
  "points",
  "#points { marker-width: 8; marker-fill: #c00; marker-allow-overlap: true; }",
);
await makeStyledLayer(server, "m", "areas", "#areas { polygon-fill: #0a0; }");
await makeStyledLayer(server, "m", "lines", "#lines { line-width: 3; line-color: #00c; }");
await told();

t.test("a public tile is kept, a tile for somebody is not", async (t) => {
  // Nothing is given from the cache before it has heard that it was told of all.
  await waitFor(async () => (await get("/tms/p/m/0/0/0.png?base=0")).isHit);
  const path = "/tms/p/m/3/4/2.png?base=0";
  t.notOk((await get(path)).isHit);
  const second = await get(path);
  t.ok(second.isHit);
  t.equal(second.headers.get("cache-control"), "public, max-age=0, must-revalidate");
  t.equal(second.headers.get("surrogate-key"), null, "nobody else needs the keys");
  const etag = second.headers.get("etag")!;
  t.equal((await get(path, { "if-none-match": etag })).status, 304);
  const { key } = (await server.api("POST", "m/tile-key/", { token, body: {} })).json;
  for (const [own, headers] of [
    [path, { "x-token": token }],
    [`${path}&token=${token}`, {}],
    [`${path}&key=${key}`, {}],
    [path, { authorization: `Bearer ${token}` }],
  ] as const) {
    t.notOk((await get(own, headers)).isHit);
    t.equal((await get(own, headers)).headers.get("cache-control"), "private, no-store");
  }
});

/** A tile that is drawn alone differs by so much from one that is drawn with its neighbours, at the edges of slivers. */
const rounding = 40;

/** Largest difference of a channel, of 255. */
async function difference(one: Uint8Array, other: Uint8Array): Promise<number> {
  const [a, b] = await Promise.all([one, other].map((png) => sharp(png).ensureAlpha().raw().toBuffer()));
  let most = 0;
  for (const [index, value] of a!.entries()) most = Math.max(most, Math.abs(value - b![index]!));
  return most;
}

t.test("random edits: no tile is old, and few are dropped that did not change", async (t) => {
  const next = randomNumbers(12);
  const random = () => next() / 2 ** 32;
  const degrees = (span: number) => span * (random() - 0.5);
  const codes = ["points", "areas", "lines"] as const;
  // Around places, so that tiles of high zooms have several objects.
  const places = Array.from({ length: 5 }, () => [degrees(300), degrees(120)] as const);
  const geometry = (code: (typeof codes)[number]) => {
    const [lon, lat] = places[Math.floor(random() * places.length)]!;
    const spread = 4 ** -(random() * 5) * 20;
    const [x, y] = [lon + degrees(spread), lat + degrees(spread)];
    const [dx, dy] = [degrees(spread / 10), degrees(spread / 10)];
    if (code === "points") return { type: "Point", coordinates: [x, y] };
    if (code === "lines")
      return {
        type: "LineString",
        coordinates: [
          [x, y],
          [x + dx, y + dy],
        ],
      };
    return {
      type: "Polygon",
      coordinates: [
        [
          [x, y],
          [x + dx, y],
          [x + dx, y + dy],
          [x, y],
        ],
      ],
    };
  };
  const tileAt = (z: number, [lon, lat]: readonly [number, number]) => {
    const side = 2 ** z;
    const radians = (lat * Math.PI) / 180;
    const row = ((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side;
    return { z, x: Math.floor(((lon + 180) / 360) * side), y: Math.floor(row) };
  };
  const objects: { code: (typeof codes)[number]; id: number; at: readonly [number, number] }[] = [];
  const edit = async (): Promise<readonly [number, number]> => {
    const code = codes[Math.floor(random() * codes.length)]!;
    const geom = geometry(code);
    const at = geom.coordinates.flat(3).slice(0, 2) as unknown as readonly [number, number];
    const known = objects.filter((one) => one.code === code);
    const chosen =
      known.length < 15 || random() < 0.2 ? undefined : known[Math.floor(random() * known.length)]!;
    const node = Math.floor(random() * 2);
    const path = `m/layers/${code}/objects/${chosen ? `${chosen.id}/` : ""}`;
    const isDeleted = chosen !== undefined && random() < 0.1;
    const answer = await api(chosen ? (isDeleted ? "DELETE" : "PUT") : "POST", path, {
      ...{ token, node },
      ...(isDeleted ? {} : { body: chosen ? { geom } : { fields: {}, geom } }),
    });
    t.equal(answer.status, 200, answer.text);
    if (!chosen) objects.push({ code, id: answer.json.id, at });
    else objects.splice(objects.indexOf(chosen), 1, ...(isDeleted ? [] : [{ ...chosen, at }]));
    return at;
  };
  for (let count = 0; count < 60; count++) await edit();
  await told();
  // Viewports around the places, at all zooms to 14.
  const paths = new Set<string>();
  for (const place of places) {
    for (let z = 0; z <= 14; z++) {
      const { x, y } = tileAt(z, place);
      for (const [dx, dy] of [
        [0, 0],
        [1, 0],
        [0, 1],
        [-1, -1],
      ] as const) {
        if (x + dx < 0 || y + dy < 0 || x + dx >= 2 ** z || y + dy >= 2 ** z) continue;
        paths.add(`/tms/p/m/${z}/${x + dx}/${y + dy}.png?base=0`);
      }
    }
  }
  const known = new Map<string, Buffer>();
  for (const path of paths) known.set(path, (await get(path)).bytes);
  let dropped = 0;
  let changed = 0;
  let old = 0;
  for (let round = 0; round < 40; round++) {
    // Several edits are told together now and then.
    await Promise.all(Array.from({ length: random() < 0.2 ? 3 : 1 }, edit));
    await told();
    const all = [...paths];
    for (let at = 0; at < all.length; at += 8) {
      await Promise.all(
        all.slice(at, at + 8).map(async (path) => {
          const [kept, origin] = await Promise.all([
            get(path),
            fetch(`${server.urls[0]}${path}`).then(async (answer) => Buffer.from(await answer.arrayBuffer())),
          ]);
          if (!kept.bytes.equals(origin) && (await difference(kept.bytes, origin)) > rounding) old++;
          if (!kept.bytes.equals(known.get(path)!)) changed++;
          if (!kept.isHit) dropped++;
          known.set(path, kept.bytes);
        }),
      );
    }
  }
  t.equal(old, 0, "tiles that were old at the CDN");
  t.ok(changed > 100, `${changed} tiles changed`);
  // Seen: 1.1.
  t.ok(dropped >= changed && dropped <= 1.5 * changed, `${dropped} dropped, ${changed} changed`);
});

t.test("public JSON is kept too, until what it is made of changes", async (t) => {
  await told();
  const paths = [
    "layers/points/objects/?fields=*",
    "layers/points/objects/?format=geojson&returnGeom=1",
    "layers/points/count/?precise=1",
    "layers/points/bbox/",
    "",
    "layers/",
    "layers/points/",
    "layers/points/structure/",
    "layers/points/legend/?extended=1",
    "layers/points/icon/",
  ].map((path) => `/api/2.8/p/m/${path}`);
  const origin = async (path: string) =>
    Buffer.from(await (await fetch(`${server.urls[0]}${path}`)).arrayBuffer());
  for (const change of [
    () =>
      api("POST", "m/layers/points/objects/", {
        token,
        body: { fields: {}, geom: { type: "Point", coordinates: [1, 2] } },
      }),
    () => api("PATCH", "m/layers/points/", { token, body: { parent_id: 0, name: "Places" } }),
    () => api("POST", "m/layers/points/structure/", { token, body: { code: "kind", type: "string" } }),
  ]) {
    for (const path of paths) {
      await get(path);
      const kept = await get(path);
      t.ok(kept.isHit, path);
      t.equal(kept.headers.get("cache-control"), "public, max-age=0, must-revalidate", path);
    }
    t.equal((await change()).status, 200);
    await told();
    for (const path of paths) t.same((await get(path)).bytes, await origin(path), path);
  }
  for (const path of ["/api/2.8/p/maps/public/", "/health/live", "/metrics"]) {
    await get(path);
    t.notOk((await get(path)).isHit, path);
  }
});

t.test("nobody puts addresses of his own into what others are given", async (t) => {
  const path = "/api/2.8/p/m/layers/points/objects/?limit=1&after=0";
  for (const [name, own] of [
    ["x-forwarded-host", "evil.example"],
    ["x-forwarded-prefix", "/evil"],
    ["x-forwarded-proto", "https"],
  ] as const) {
    await sql.query("update edge set target = ''");
    await sql.query("select pg_notify('mapwright', 'C')");
    await waitFor(async () => (await sql.query("select target from edge")).rows[0].target !== "");
    const his = (await get(path, { [name]: own })).headers.get("link");
    t.match(his, own, `${name} is taken from a trusted proxy`);
    t.notMatch((await get(path)).headers.get("link"), own, name);
    t.ok((await get(path)).isHit);
  }
});

t.test("styles, rights and whole layers", async (t) => {
  const path = "/tms/p/m/2/2/1.png?base=0";
  const fresh = async () => Buffer.from(await (await fetch(`${server.urls[0]}${path}`)).arrayBuffer());
  const keep = async () => {
    await get(path);
    await waitFor(async () => (await get(path)).isHit);
  };
  await keep();
  const admin = await server.token("admin");
  const style = await api("PATCH", "m/layers/points/", {
    token: admin,
    body: {
      parent_id: 0,
      css_style: "#points { marker-width: 20; marker-fill: #0cc; marker-allow-overlap: true; }",
    },
  });
  t.equal(style.status, 200, style.text);
  await told();
  const restyled = await get(path);
  t.notOk(restyled.isHit);
  t.same(restyled.bytes, await fresh());

  await keep();
  const { rows } = await sql.query("select count(*) from layer_change where layer_id = $1", [pointLayer]);
  t.ok(Number(rows[0].count) > 0);
  await sql.query(
    `insert into layers.l${pointLayer} (geom) select st_setsrid(st_makepoint(n % 170, n % 80), 4326) from generate_series(1, 5000) n`,
  );
  await told();
  t.same((await get(path)).bytes, await fresh(), "many objects at once");

  await keep();
  await sql.query("update map set has_publication = has_publication, publication = '[]' where code = 'm'");
  await told();
  t.notOk((await get(path)).isHit, "what is published");
});

t.test("what is fetched while something is dropped is kept for no time", async (t) => {
  await sql.query("update map set publication = null where code = 'm'");
  await told();
  // Drawing takes a while; the purge comes meanwhile.
  const path = (x: number) => `/tms/p/m/5/${x}/11.png?base=0`;
  let overtaken = 0;
  for (let x = 0; x < 30; x++) {
    const first = get(path(x));
    await fetch(cache.url, { method: "PURGE", headers: { "mapwright-keys": "of-nothing" } } as RequestInit);
    await first;
    if (!(await get(path(x))).isHit) overtaken++;
  }
  t.ok(overtaken > 0, `${overtaken} of 30 were overtaken`);
});

t.test("an operator's purge reaches the CDN", async (t) => {
  const path = "/tms/p/m/1/1/0.png?base=0";
  await get(path);
  await waitFor(async () => (await get(path)).isHit);
  // As `mapwright cache purge` does.
  await sql.query("update edge set target = ''");
  await sql.query("select pg_notify('mapwright', 'C')");
  await waitFor(async () => (await sql.query("select target from edge")).rows[0].target !== "");
  t.notOk((await get(path)).isHit);
});

t.test("one that Mapwright cannot reach gives nothing that it has for longer than its lease", async (t) => {
  const lost = await startVarnish(lostPort, server.nodes[1]!.port, [["60s < now", "8s < now"]]);
  t.teardown(() => lost.stop());
  const path = "/tms/p/m/1/1/0.png?base=0";
  const fresh = async () => Buffer.from(await (await fetch(`${server.urls[0]}${path}`)).arrayBuffer());
  way.isOpen = true;
  await waitFor(async () => (await get(path, {}, lost)).isHit);
  const before = await get(path, {}, lost);
  await waitFor(async () => (await get(path)).isHit);

  way.isOpen = false;
  const style = await api("PATCH", "m/layers/points/", {
    token: await server.token("admin"),
    body: { parent_id: 0, css_style: "#points { marker-width: 40; marker-fill: #00f; }" },
  });
  t.equal(style.status, 200, style.text);
  await told();
  t.same((await get(path)).bytes, await fresh(), "the other one was told");
  t.notSame(before.bytes, await fresh());
  await waitFor(async () => !(await get(path, {}, lost)).isHit);
  for (let times = 0; times < 3; times++) {
    const { isHit, bytes } = await get(path, {}, lost);
    t.notOk(isHit);
    t.same(bytes, await fresh());
  }
  const etag = (await get(path, {}, lost)).headers.get("etag")!;
  t.equal((await get(path, { "if-none-match": etag }, lost)).status, 304);

  way.isOpen = true;
  await waitFor(async () => (await get(path, {}, lost)).isHit);
  t.same((await get(path, {}, lost)).bytes, await fresh(), "it has dropped what it has missed");
});

t.test("strangers cannot purge, also by way of another proxy on this machine", async (t) => {
  const purge = (headers: Record<string, string>) =>
    fetch(`${cache.url}/`, { method: "PURGE", headers: { "mapwright-forgotten": "mapwright", ...headers } });
  t.equal((await purge({ "x-forwarded-for": "203.0.113.1" })).status, 403);
  t.equal((await purge({})).status, 200);
  const told = { method: "PURGE", headers: { "mapwright-told": "all", "x-forwarded-for": "203.0.113.1" } };
  t.equal((await fetch(`${cache.url}/`, told)).status, 403, "nor say that all was told");
});

/** The way to a port of this machine, which can be closed. */
async function startWay(to: number) {
  const server = createServer((request, response) => {
    if (!way.isOpen) return request.socket.destroy();
    const { method, url, headers } = request;
    const sent = ask({ port: to, host: "127.0.0.1", method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    request.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const way = {
    url: `http://127.0.0.1:${port}`,
    isOpen: false,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return way;
}
