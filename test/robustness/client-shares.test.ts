import sharp from "sharp";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** What one client asks for keeps no other waiting for longer than their share: two clients behind a proxy. */

const server = await startServer({
  config: {
    trustedProxies: ["127.0.0.1"],
    "tiles.queueLength": 16,
    "tiles.deadlineMs": 8_000,
    statementTimeoutMs: 30_000,
  },
});
t.teardown(() => server.stop());
const { api, sql } = server;
const node = server.nodes[0]!;
const renders = () => node.services.render.counts();

await makeMap(server, "m");
await makeMap(server, "slow");
const layer = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
for (const lon of [-170, 0, 170]) await addObject(server, "a", square(lon, 50, 1), { map: "m" });

const tile = (from: string, lon: number, map = "m") =>
  fetch(tileUrl(server, map, { lon, lat: 50.5, z: 9 }), { headers: { "x-forwarded-for": from } });

t.test("a flood of cold addresses takes nothing from others but their turns", async (t) => {
  const pending = new Set<string>();
  const ask = async (from: string, lon: number) => {
    const name = `${from} ${lon}`;
    pending.add(name);
    const { status } = await tile(from, lon);
    pending.delete(name);
    return status;
  };
  let flood: Promise<number>[] = [];
  let others: Promise<number>[] = [];
  await sql.query("begin");
  await sql.query(`lock table layers.l${layer.id} in access exclusive mode`);
  try {
    flood = Array.from({ length: 40 }, (_, index) => ask("198.51.100.1", -170 + 6 * index));
    // Those beyond the queue have been refused.
    await waitFor(() => renders().waiting === 16 && pending.size < 24);
    others = [3, 103].map((lon) => ask("198.51.100.2", lon));
    await waitFor(() => pending.size <= 22 && [...pending].some((name) => name.startsWith("198.51.100.2")));
    t.equal(renders().waiting, 16, "their places are some of those that the flood had");
  } finally {
    await sql.query("rollback");
  }
  t.same(await Promise.all(others), [200, 200], "nobody else is refused");
  t.ok(pending.size >= 8, `${pending.size} tiles of the flood have still to wait`);
  const statuses = await Promise.all(flood);
  t.equal(
    statuses.filter((status) => status === 200).length + statuses.filter((status) => status === 503).length,
    40,
  );
  t.ok(statuses.filter((status) => status === 503).length >= 18, "of the flood what does not fit is refused");
});

/** Adds a virtual layer over the layer `base`, each of whose reads takes a minute. */
async function makeSlowView(map: string, css_style: string): Promise<void> {
  const body = { code: "view", type: "virtual", source: { layer: "base" }, css_style };
  const view = (await api("POST", `${map}/layers/`, { token: await server.token("editor"), body })).json.id;
  const found = await sql.query(
    `select rtrim(pg_get_viewdef('layers.l${view}'::regclass), '; \n') as definition`,
  );
  await sql.query(
    `create or replace view layers.l${view} as ${found.rows[0].definition} where pg_sleep(60) is not null`,
  );
}

t.test("maps of documents leave a render to others' tiles, and take turns", async (t) => {
  await makeMap(server, "shapes");
  await makeStyledLayer(server, "shapes", "shape", "#shape { polygon-fill: #0f0; }");
  const ids = await Promise.all(
    [-120, -90, -60, -30, 30, 60].map((lon) =>
      addObject(server, "shape", square(lon, 20, 1), { map: "shapes" }),
    ),
  );
  const print = async (from: string, id: number, signal = new AbortController().signal) => {
    const url = `${server.url}/api/2.8/p/shapes/layers/shape/objects/${id}/?f=pdf`;
    const { status } = await fetch(url, { headers: { "x-forwarded-for": from }, signal });
    return status;
  };
  const { pid } = node.services.render;
  const { printSemaphore } = node.services;
  const asked: string[] = [];
  const begun: string[] = [];
  const { acquire } = printSemaphore;
  t.teardown(() => {
    printSemaphore.acquire = acquire;
  });
  printSemaphore.acquire = async (request) => {
    asked.push(request.owners[0]!);
    const release = await acquire.call(printSemaphore, request);
    begun.push(request.owners[0]!);
    return release;
  };
  // It gets the tasks and does not come to them.
  process.kill(pid!, "SIGSTOP");
  const leaving = new AbortController();
  let left: Promise<unknown>[] = [];
  let prints: Promise<number>[] = [];
  let looked: Promise<Response>;
  try {
    prints = ids.slice(0, 4).map((id) => print("198.51.100.1", id));
    await waitFor(() => asked.length === 4 && renders().running === 1);
    left = [print("198.51.100.1", ids[4]!, leaving.signal).catch(() => "left")];
    await waitFor(() => asked.length === 5);
    prints.push(print("198.51.100.2", ids[5]!));
    await waitFor(() => asked.length === 6);
    leaving.abort();
    looked = tile("198.51.100.3", 40);
    await waitFor(() => renders().running === 2);
    t.same(renders(), { ...renders(), running: 2, waiting: 0 }, "one of documents, and that of the tile");
  } finally {
    process.kill(pid!, "SIGCONT");
  }
  t.equal((await looked).status, 200);
  t.same(await Promise.all(prints), [200, 200, 200, 200, 200]);
  t.same(await Promise.all(left), ["left"]);
  t.equal(begun.indexOf("198.51.100.2"), 1, "who comes later is next after the first of another");
  t.equal(begun.length, 5, "who left takes no turn");
});

t.test("a layer that takes too long is left out at once for a while, and no other", async (t) => {
  const base = await makeStyledLayer(server, "slow", "base", "#base { polygon-fill: #00f; }");
  await addObject(server, "base", square(0, 50, 1), { map: "slow" });
  await makeSlowView("slow", "#l { polygon-fill: #00f; }");
  t.ok(base.id);
  const before = renders();
  const late = async () => {
    const began = node.services.tiles.rendered;
    const answer = await tile("198.51.100.1", 0.5, "slow");
    t.match([answer.status, answer.headers.get("x-tile-incomplete")], [200, "view"]);
    return node.services.tiles.rendered - began;
  };
  // The first may have waited for others.
  for (let round = 0; round < 2; round++) {
    const [, beside] = await Promise.all([late(), tile("198.51.100.2", 20 + round * 40)]);
    t.equal(beside.status, 200);
  }
  t.equal(await late(), 0, "it is not tried again, and the tile without it is there");
  t.match(renders(), { running: 0, restarts: before.restarts });
  t.equal((await tile("198.51.100.2", 140)).status, 200);
});

t.test("a layer that takes too long at one zoom is drawn at the others", async (t) => {
  await makeMap(server, "deep");
  await makeStyledLayer(server, "deep", "base", "#base { polygon-fill: #00f; }");
  for (const lon of [0, 40]) await addObject(server, "base", square(lon, 50, 1), { map: "deep" });
  await makeSlowView("deep", "#l[zoom<3] { polygon-fill: #00f; }");
  const stranger = async () => {
    const url = tileUrl(server, "deep", { lon: 0, lat: 50.5, z: 1 });
    const answer = await fetch(url, { headers: { "x-forwarded-for": "198.51.100.1" } });
    return answer.headers.get("x-tile-incomplete");
  };
  for (let round = 0; round < 3; round++) t.equal(await stranger(), "view");
  const nearer = await tile("198.51.100.2", 0.5, "deep");
  t.match([nearer.status, nearer.headers.get("x-tile-incomplete")], [200, null]);
  t.equal((await tile("198.51.100.2", 40.5, "deep")).status, 200);
});

t.test("statistics that are late keep a tile waiting no longer than it may take to draw", async (t) => {
  await makeMap(server, "late");
  const token = await server.token("editor");
  const { id } = await makeStyledLayer(server, "late", "classes", "");
  await api("POST", "late/layers/classes/structure/", { token, body: { code: "n", type: "number" } });
  for (const n of [1, 2]) {
    const body = { fields: { n }, geom: square(10 * n, 50, 1) };
    await api("POST", "late/layers/classes/objects/", { token, body });
  }
  const ask = async () => {
    const { status, headers } = await tile("198.51.100.3", 10.5, "late");
    return [status, headers.get("x-tile-incomplete"), headers.get("cache-control")];
  };
  /** When the statements began that wait for the lock. */
  const waiting = async () => {
    await sql.query("select pg_stat_clear_snapshot()");
    const { rows } = await sql.query(
      `select query_start::text as begun from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.map(({ begun }) => String(begun));
  };
  const visualSettings = { type: 1, columnCode: "n", classesCount: 2 };
  await api("PUT", "late/layers/classes/visualization/", { token, body: { visualSettings } });
  // Nothing is known of these yet.
  await sql.query(
    `update node set visual_settings = visual_settings || '{"classesCount": 3}' where id = ${id}`,
  );
  await node.services.changes.propagate();
  await sql.query("begin");
  await sql.query(`lock table layers.l${id} in access exclusive mode`);
  try {
    const asked = ask();
    await waitFor(async () => (await waiting()).length > 0);
    const [first] = await waiting();
    t.same(await asked, [200, "classes", "no-store"]);
    t.ok((await waiting()).includes(first!), "they are not there yet");
  } finally {
    await sql.query("rollback");
  }
  await waitFor(async () => (await ask())[1] === null);
});

t.test("pictures that a client asks for and leaves keep no others waiting", async (t) => {
  await makeFileLayer(server, "files");
  // Nothing is drawn of it. The icon of such a layer is made where pictures are made smaller.
  await makeStyledLayer(server, "m", "undrawn", "@unused: 1;");
  const object = await makeObject(server, "files");
  const bytes = await sharp({ create: { width: 60, height: 40, channels: 3, background: "#f00" } })
    .png()
    .toBuffer();
  const { uuid } = (await send(server, `files/objects/${object}`, { bytes, name: "a.png" })).json;
  const leaving = new AbortController();
  const ask = async (from: string, path: string, signal = new AbortController().signal) =>
    (await fetch(`${server.url}/api/2.8/p/${path}`, { headers: { "x-forwarded-for": from }, signal })).status;
  const resized = (from: string, width: number, signal?: AbortSignal) =>
    ask(from, `image/${uuid}/?w=${width}`, signal);
  t.equal(await resized("198.51.100.1", 9), 200);
  const { image } = node.services;
  const { pid } = image;
  // It gets the tasks and does not come to them.
  process.kill(pid!, "SIGSTOP");
  const flood = Array.from({ length: 8 }, (_, index) =>
    resized("198.51.100.1", 10 + index, leaving.signal).catch(() => "left"),
  );
  await waitFor(() => image.counts().waiting === 6);
  t.equal(image.counts().running, 2, "one kind of work does not take all places");
  const icon = ask("198.51.100.2", "m/layers/undrawn/icon/?size=33");
  await waitFor(() => image.counts().running === 3);
  const others = [resized("198.51.100.2", 30), resized("198.51.100.3", 17)];
  await waitFor(() => image.counts().waiting === 7);
  leaving.abort();
  // One that others wait for as well stays.
  await waitFor(() => image.counts().waiting === 2);
  process.kill(pid!, "SIGCONT");
  t.same(await Promise.all([icon, ...others]), [200, 200, 200]);
  t.same(new Set(await Promise.all(flood)), new Set(["left"]));
  t.equal(image.pid, pid);
});

t.test("pictures and fonts that an account sends keep no others' waiting for all of them", async (t) => {
  const { image, db } = node.services;
  const { rows } = await sql.query("select id from project where code = 'p'");
  await addMember(db, { login: "second", password: "secondsecond", projectId: rows[0].id, role: "admin" });
  const own = await server.token("admin");
  const login = await api("POST", "login/", { body: { user: "second", pass: "secondsecond" } });
  const other: string = login.json.token;
  const body = await sharp({ create: { width: 8, height: 8, channels: 3, background: "#f00" } })
    .png()
    .toBuffer();
  const put = async (token: string, path: string, signal = new AbortController().signal) => {
    const headers = { "x-token": token, "content-type": "image/png" };
    const url = `${server.url}/api/2.8/p/${path}`;
    return (await fetch(url, { method: "PUT", headers, body: new Uint8Array(body), signal })).status;
  };
  t.equal(await put(own, "pictures/first.png"), 200);
  const { call } = image;
  t.teardown(() => {
    image.call = call;
  });
  const made: string[] = [];
  image.call = async (kind, request, user) => {
    const answer = await call(kind, request, user);
    made.push((request as { readonly name: string }).name);
    return answer;
  };
  process.kill(image.pid!, "SIGSTOP");
  const flood = ["a", "b", "c", "d", "e", "f"].map((name) => put(own, `pictures/${name}.png`));
  await waitFor(() => image.counts().running === 2 && image.counts().waiting === 4);
  const leaving = new AbortController();
  const left = ["pictures/left.png", "fonts/left.ttf"].map((path) =>
    put(own, path, leaving.signal).catch(() => "left"),
  );
  await waitFor(() => image.counts().waiting === 6);
  leaving.abort();
  await waitFor(() => image.counts().waiting === 4);
  t.same(await Promise.all(left), ["left", "left"]);
  const last = put(other, "pictures/other.png");
  await waitFor(() => image.counts().waiting === 5);
  process.kill(image.pid!, "SIGCONT");
  t.same(new Set(await Promise.all([...flood, last])), new Set([200]));
  t.ok(made.indexOf("other.png") < made.length - 1, made.join(", "));
});
