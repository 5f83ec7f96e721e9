import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config.js";
import { startLocalServices } from "../../src/local-services/services.js";
import { createLog } from "../../src/log.js";
import { freePort, startVarnish } from "../caches.js";
import { objectAt, placeOfEdit, tileOf } from "../crowd-places.js";
import { type Server, startServer } from "../server.js";
import { makeProject } from "./project.js";

/**
 * `node dist/bench/failover/cdn.js [kills] [editors]`: two nodes behind Varnish, of which one is killed every few seconds while
 * editors look, by way of Varnish, at the tile that they have just changed. Prints how many first looks were stale by what
 * `X-Edge` had said, and for how long. It needs Debian's varnish, and is no part of `npm test`.
 */

const [kills = "20", editors = "4"] = process.argv.slice(2);
const betweenMs = 5_000;
/** A tile that stays old for so long stays so. */
const longestMs = 20_000;

const log = createLog(process.env.LOG_LEVEL ?? "silent", "bench");
const dataDir = await mkdtemp(join(tmpdir(), "mapwright-failover-data-"));
const services = await startLocalServices({ dataDir, log, durable: false });
const varnishPort = await freePort();
const edge = `http://127.0.0.1:${varnishPort}`;
const servers: Server[] = [];
let varnish: Awaited<ReturnType<typeof startVarnish>> | undefined;

/** Of edits whose answer said the same: their number, and how long each stale one was shown. */
const found = new Map<string, { edits: number; readonly staleMs: number[] }>();
const refused = new Map<string, number>();
let isOver = false;

async function ask(base: string, path: string, body?: object, token = "") {
  const answer = await fetch(`${base}${path}`, {
    method: body ? "POST" : "GET",
    headers: { "content-type": "application/json", ...(token && { "x-token": token }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    status: answer.status,
    state: answer.headers.get("x-edge") ?? "none",
    isWhole: answer.status === 200 && !answer.headers.has("x-tile-incomplete"),
    isHit: answer.headers.get("x-cache") === "hit",
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}
type Answer = Awaited<ReturnType<typeof ask>>;

/** Asked for until Varnish has it. */
async function kept(path: string): Promise<Answer | undefined> {
  for (let tries = 0; tries < 50 && !isOver; tries++) {
    const tile = await ask(edge, path);
    if (tile.isWhole && tile.isHit) return tile;
    await sleep(50);
  }
  return undefined;
}

async function edit(editor: number, token: string): Promise<void> {
  for (let count = 0; !isOver; count++) {
    const place = placeOfEdit(editor, count);
    const path = tileOf(place);
    const before = await kept(path);
    if (!before) continue;
    const url = servers[count % servers.length]!.url;
    const edited = await ask(
      url,
      "/api/2.8/p/m/layers/a/objects/",
      objectAt(place, `w${editor}-${count}`),
      token,
    ).catch(() => undefined);
    if (edited?.status !== 200) {
      const what = String(edited?.status ?? "no answer");
      refused.set(what, (refused.get(what) ?? 0) + 1);
      await sleep(100);
      continue;
    }
    const begun = performance.now();
    const isStale = async () => {
      const tile = await ask(edge, path);
      return tile.isWhole && tile.bytes.equals(before.bytes);
    };
    const entry = found.get(edited.state) ?? { edits: 0, staleMs: [] };
    found.set(edited.state, entry);
    entry.edits++;
    if (!(await isStale())) continue;
    while ((await isStale()) && performance.now() - begun < longestMs) await sleep(10);
    const ms = Math.round(performance.now() - begun);
    entry.staleMs.push(ms);
    console.log(`stale for ${ms} ms after ${edited.state}, ${path}`);
  }
}

try {
  const config = loadConfig({
    environment: {},
    flags: {
      ...{ databaseUrl: services.databaseUrl, redisUrl: services.redisUrl, dataDir },
      ...{ host: "127.0.0.1", port: 0, "tiles.redrawHot": false, "tiles.packHot": false },
      ...{ "edge.kind": "varnish", "edge.urls": [edge], trustedProxies: ["127.0.0.1"] },
    },
  });
  await makeProject(config, log);
  for (let n = 0; n < 2; n++) servers.push(await startServer(config, log));
  varnish = await startVarnish(
    varnishPort,
    servers.map(({ url }) => Number(new URL(url).port)),
  );
  const login = await ask(servers[0]!.url, "/api/2.8/p/login/", { user: "admin", pass: "adminadmin" });
  const { token } = JSON.parse(String(login.bytes)) as { token: string };
  await ask(servers[0]!.url, "/api/2.8/p/", { code: "m" }, token);
  const css_style = "#a { polygon-fill: #f00; }";
  await ask(servers[0]!.url, "/api/2.8/p/m/layers/", { code: "a", css_style }, token);
  await ask(servers[0]!.url, "/api/2.8/p/m/layers/a/structure/", { code: "name", type: "string" }, token);
  await sleep(3_000);
  const running = Array.from({ length: Number(editors) }, (_, editor) => edit(editor, token));
  for (let n = 0; n < Number(kills); n++) {
    await sleep(betweenMs);
    const { pid } = servers[n % servers.length]!;
    if (pid > 0) process.kill(pid, "SIGKILL");
    console.log(`killed ${n % servers.length}`);
  }
  await sleep(betweenMs);
  isOver = true;
  await Promise.all(running);
  for (const [state, { edits, staleMs }] of found)
    console.log(`${state}: ${edits} edits, ${staleMs.length} stale (${staleMs.join(", ")} ms)`);
  console.log(`refused: ${JSON.stringify(Object.fromEntries(refused))}`);
} finally {
  isOver = true;
  await varnish?.stop();
  await Promise.all(servers.map((server) => server.stop()));
  await services.stop();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit();
