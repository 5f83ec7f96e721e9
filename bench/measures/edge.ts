import { Agent, get } from "node:http";
import pg from "pg";
import type { Page } from "playwright-core";
import { addMember } from "../../src/access/accounts.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { startBrowser } from "../browser.js";
import { freePort, startVarnish } from "../caches.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { mapCode as projectCode } from "../import.js";
import type { Row } from "../report.js";
import { startServer } from "../server.js";
import { processesOf } from "../soak/processes.js";
import { Random } from "../soak/random.js";

/**
 * A Varnish in front of one of two nodes: how long it takes from an edit at the other node to the changed pixel in a browser
 * behind it, how much of the cache edits drop beside what they change, and what maps that listen for changes cost.
 */

const code = "edge";
const login = "edge";
const password = "edge-of-the-map";
const style =
  "#a { polygon-fill: #00ff00; ::line { line-width: 3; line-color: #00c; } } #a['mapnik::geometry_type'=point] " +
  "{ marker-width: 8; marker-fill: #c00; marker-allow-overlap: true; }";

export async function edge({ world, size }: Context): Promise<Row[]> {
  const port = await freePort();
  const config = world.config({
    redisPrefix: "bench-edge:",
    trustedProxies: ["127.0.0.1"],
    "edge.kind": "varnish",
    "edge.urls": [`http://127.0.0.1:${port}`],
    "render.concurrency": 2,
  });
  await prepare(world);
  const near = await startServer(config, world.log);
  const far = await startServer(config, world.log);
  const varnish = await startVarnish(port, Number(new URL(far.url).port));
  const client = new pg.Client({ connectionString: config.databaseUrl });
  await client.connect();
  await client.query("set search_path = mapwright, public");
  try {
    const rows = await editsToPixels({ near: near.url, edge: varnish.url, client, edits: size.edits });
    rows.push(await droppedTiles({ edge: varnish.url, client, edits: 5 * size.edits }));
    rows.push(await listeners({ url: far.url, pid: far.pid, count: size.listeners }));
    return rows;
  } finally {
    await client.end();
    await varnish.stop();
    await Promise.all([near.stop(), far.stop()]);
  }
}

async function prepare(world: Context["world"]): Promise<void> {
  await withCatalogue(world, async ({ db, project }) => {
    const present = await db.query("select from map where project_id = $1 and code = $2", [project.id, code]);
    if (present.length > 0) return;
    await addMember(db, { login, password, projectId: project.id, role: "editor" });
    const map = await createMap(db, project.id, { code });
    await createLayer(db, map, { code: "a", geometryKind: "Unknown", cssStyle: style });
  });
}

interface PixelOptions {
  readonly near: string;
  readonly edge: string;
  readonly client: pg.Client;
  readonly edits: number;
}

/** Degrees; the middle of the map that is open. */
const middle = { lon: 10, lat: 50 } as const;
const zoom = 7;

const squareAt = (lon: number, lat: number) => ({
  type: "Polygon",
  coordinates: [
    [
      [lon - 0.5, lat - 0.5],
      [lon + 0.5, lat - 0.5],
      [lon + 0.5, lat + 0.5],
      [lon - 0.5, lat + 0.5],
      [lon - 0.5, lat - 0.5],
    ],
  ],
});

/** Moves a square over the middle of an open map and away, and waits each time until the pixel there changes. */
async function editsToPixels({ near, edge, client, edits }: PixelOptions): Promise<Row[]> {
  const api = `${near}/api/2.8/${projectCode}`;
  const send = async (method: string, path: string, body: unknown, token?: string) => {
    const answer = await fetch(`${api}/${path}`, {
      method,
      headers: { "content-type": "application/json", ...(token && { "x-token": token }) },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { token: string; id: number };
  };
  const { token } = await send("POST", "login/", { user: login, pass: password });
  const aside = squareAt(middle.lon + 3, middle.lat);
  const { id } = await send("POST", `${code}/layers/a/objects/`, { fields: {}, geom: aside }, token);
  await untilTold(client);
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 800, height: 600 }, reducedMotion: "reduce" });
    await page.goto(
      `${edge}/#project=${projectCode}&map=${code}&z=${zoom}&lat=${middle.lat}&lon=${middle.lon}`,
    );
    await pixelBecomes(page, false);
    const listening = Date.now() + 10_000;
    while (!(await isListening(edge, near)) && Date.now() < listening)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const times: number[] = [];
    for (let edit = 0; edit < edits; edit++) {
      const isThere = edit % 2 === 0;
      const seen = pixelBecomes(page, isThere);
      // The page has begun to look.
      await page.evaluate(() => undefined);
      const sent = Date.now();
      const geom = isThere ? squareAt(middle.lon, middle.lat) : aside;
      await send("PUT", `${code}/layers/a/objects/${id}/`, { geom }, token);
      times.push((await seen) - sent);
    }
    times.sort((one, other) => one - other);
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))]!;
    const measure = "from an edit at one node to the pixel in a browser at the other, through Varnish";
    return [0.5, 0.99].map(
      (share): Row => ({
        measure,
        unit: `p${100 * share}, ms`,
        ours: at(share),
        reference: 300,
        ratio: 300 / at(share),
        ...(share === 0.99 && { gate: 1 }),
      }),
    );
  } finally {
    await browser.close();
  }
}

/** Whether one of the nodes has an open map that listens. */
async function isListening(...urls: readonly string[]): Promise<boolean> {
  for (const url of urls) {
    const text = await (await fetch(`${url}/metrics`)).text().catch(() => "");
    if (/^mapwright_change_listeners [1-9]/m.test(text)) return true;
  }
  return false;
}

/**
 * When the middle of the map in the page is the square's green, or is not any more, in ms since 1970. The page looks before
 * each of its frames, at all images of tiles that lie there.
 */
const pixelBecomes = (page: Page, isGreen: boolean): Promise<number> =>
  page.evaluate(`(${lookingForGreen})(${isGreen})`);

/** Runs in the page, where there are other types. */
const lookingForGreen = `(wanted) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const x = innerWidth / 2 + 5;
  const y = innerHeight / 2 + 5;
  const looksGreen = (image) => {
    const box = image.getBoundingClientRect();
    if (x < box.left || x >= box.right || y < box.top || y >= box.bottom || !image.complete) return false;
    const scale = image.naturalWidth / box.width;
    context.clearRect(0, 0, 1, 1);
    context.drawImage(image, (x - box.left) * scale, (y - box.top) * scale, 1, 1, 0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return red < 60 && green > 200 && blue < 60;
  };
  return new Promise((resolve) => {
    const look = () => {
      const images = [...document.querySelectorAll("img")];
      if (images.length > 0 && images.some(looksGreen) === wanted) resolve(Date.now());
      else requestAnimationFrame(look);
    };
    look();
  });
}`;

/** Resolves when the CDN was told of all that is committed. */
async function untilTold(client: pg.Client): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query("select from edge_outdated limit 1");
    if (rowCount === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const inSrid = "st_geomfromtext($1, 4326)";

/** Five places. */
const placeAt = (place: number) => ({ lon: -120 + 60 * place, lat: -40 + 20 * place });

/** A point, line or square within 0.01 to 10 degrees of a place, as text (WKT). */
function shapeOf(next: () => number): string {
  const { lon, lat } = placeAt(Math.floor(5 * next()));
  const spread = 20 * 4 ** (-5 * next());
  const x = lon + spread * (next() - 0.5);
  const y = lat + spread * (next() - 0.5);
  const side = spread * (0.001 + 0.1 * next());
  const kind = Math.floor(3 * next());
  if (kind === 0) return `POINT(${x} ${y})`;
  if (kind === 1) return `LINESTRING(${x} ${y}, ${x + side} ${y - side})`;
  return `POLYGON((${x} ${y}, ${x + side} ${y}, ${x + side} ${y + side}, ${x} ${y + side}, ${x} ${y}))`;
}

/** Random edits of points, lines and polygons around places that are kept at zooms 0 to 14. */
async function droppedTiles({
  edge,
  client,
  edits,
}: Pick<PixelOptions, "edge" | "client" | "edits">): Promise<Row> {
  const { rows } = await client.query(
    `select 'layers.l' || n.id as name from node n join map m on m.id = n.map_id where m.code = $1 and n.code = 'a'`,
    [code],
  );
  const table: string = rows[0].name;
  await client.query(`truncate ${table}`);
  const random = new Random(5);
  const next = () => random.next();
  const ids: number[] = [];
  for (let count = 0; count < 60; count++) {
    const { rows } = await client.query(`insert into ${table} (geom) values (${inSrid}) returning svc_id`, [
      shapeOf(next),
    ]);
    ids.push(rows[0].svc_id);
  }
  await untilTold(client);
  const paths: string[] = [];
  for (let place = 0; place < 5; place++) {
    for (let z = 0; z <= 14; z++) {
      const side = 2 ** z;
      const { lon, lat } = placeAt(place);
      const radians = (lat * Math.PI) / 180;
      const x = Math.floor(((lon + 180) / 360) * side);
      const y = Math.floor(((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side);
      for (const [dx, dy] of [
        [0, 0],
        [1, 0],
        [0, 1],
        [1, 1],
      ] as const)
        if (x + dx < side && y + dy < side)
          paths.push(`/tms/${projectCode}/${code}/${z}/${x + dx}/${y + dy}.png?base=0`);
    }
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const kept = [...new Set(paths)];
  const tags = new Map<string, string>();
  const look = async () => {
    let dropped = 0;
    let changed = 0;
    let at = 0;
    const worker = async () => {
      for (let path = kept[at++]; path !== undefined; path = kept[at++]) {
        const { etag, isHit } = await tagOf(`${edge}${path}`, agent);
        if (!isHit) dropped++;
        if (tags.get(path) !== etag) changed++;
        tags.set(path, etag);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    return { dropped, changed };
  };
  try {
    await look();
    let dropped = 0;
    let changed = 0;
    for (let edit = 0; edit < edits; edit++) {
      const id = ids[Math.floor(next() * ids.length)];
      await client.query(`update ${table} set geom = ${inSrid} where svc_id = $2`, [shapeOf(next), id]);
      await untilTold(client);
      const found = await look();
      dropped += found.dropped;
      changed += found.changed;
    }
    return {
      measure: `tiles that Varnish dropped in ${edits} random edits, beside those that changed`,
      unit: "tiles",
      ours: dropped,
      reference: changed,
      ratio: changed / dropped,
      gate: 0.67,
      exact: true,
    };
  } finally {
    agent.destroy();
  }
}

const tagOf = (url: string, agent: Agent): Promise<{ readonly etag: string; readonly isHit: boolean }> =>
  new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume();
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({ etag: String(answer.headers.etag), isHit: answer.headers["x-cache"] === "hit" }),
      );
    }).once("error", reject);
  });

const residentBytes = (pid: number): number =>
  processesOf(pid).find(({ pid: one }) => one === pid)!.residentBytes;

/** Memory of a node for each open map that listens. */
async function listeners({
  url,
  pid,
  count,
}: {
  readonly url: string;
  readonly pid: number;
  readonly count: number;
}): Promise<Row> {
  let isOver = false;
  const before = residentBytes(pid);
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  let open = 0;
  try {
    for (let at = 0; at < count; at += 50) {
      await Promise.all(
        Array.from(
          { length: Math.min(50, count - at) },
          (_, index) =>
            new Promise<void>((resolve, reject) => {
              const headers = { "x-forwarded-for": `10.${(at + index) >> 8}.${(at + index) & 255}.1` };
              get(`${url}/tms/${projectCode}/${code}/changes/`, { agent, headers }, (answer) => {
                if (answer.statusCode !== 200) return reject(new Error(`changes: ${answer.statusCode}`));
                answer.once("data", () => {
                  open++;
                  resolve();
                });
                answer.on("error", () => undefined);
              }).on("error", (error) => (isOver ? undefined : reject(error)));
            }),
        ),
      );
    }
    const each = Math.max(0, residentBytes(pid) - before) / open / 1_000;
    return {
      measure: `memory of each of ${count} open maps that listen for changes`,
      unit: "kB",
      ours: each,
      reference: 20,
      ratio: 20 / Math.max(each, 0.1),
      gate: 1,
    };
  } finally {
    isOver = true;
    agent.destroy();
  }
}
