import t from "tap";
import { freePort, startVarnish } from "../../bench/caches.js";
import { type Config, loadConfig } from "../../src/config.js";
import { checkCdn } from "../../src/doctor/check-cdn.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** The first request after the answer of an edit, by way of a real Varnish. */

const port = await freePort();
const server = await startServer({
  nodes: 2,
  config: {
    "edge.kind": "varnish",
    "edge.urls": [`http://127.0.0.1:${port}`],
    trustedProxies: ["127.0.0.1"],
  },
});
t.teardown(() => server.stop());
let cache = await startVarnish(port, server.nodes[1]!.port);
t.teardown(() => cache.stop());
const { api } = server;
const token = await server.token("editor");
const admin = await server.token("admin");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });

const path = "/tms/p/m/0/0/0.png?base=0";
async function get(base: string) {
  const answer = await fetch(`${base}${path}`);
  return { bytes: Buffer.from(await answer.arrayBuffer()), isHit: answer.headers.get("x-cache") === "hit" };
}
const isKept = () => waitFor(async () => (await get(cache.url)).isHit);
const move = (round: number) =>
  api("PUT", `m/layers/a/objects/${object}/`, {
    token,
    node: round % 2,
    body: { geom: square(-150 + 30 * (round % 10), 50, 20) },
  });
const colour = (round: number) =>
  api("PATCH", "m/layers/a/", {
    token: admin,
    node: round % 2,
    body: { parent_id: 0, css_style: `#a { polygon-fill: rgb(${round}, 99, 200); }` },
  });

t.test("shows the edit, whatever was edited and at which node", async (t) => {
  let purged = 0;
  for (let round = 0; round < 24; round++) {
    await isKept();
    const edited = await (round % 3 === 2 ? colour : move)(round);
    const first = await get(cache.url);
    t.equal(edited.status, 200, edited.text);
    if (edited.headers.get("x-edge") !== "purged") continue;
    purged++;
    t.notOk(first.isHit, `round ${round}`);
    t.same(first.bytes, (await get(server.urls[1]!)).bytes);
  }
  t.ok(purged >= 12, `${purged} of 24 were purged in time`);
  t.equal((await api("GET", "m/", { token })).headers.get("x-edge"), null, "reading waits for nothing");
});

t.test("the doctor sees that a purge arrives, and that it does not", async (t) => {
  const configOf = (url: string): Config =>
    loadConfig({
      environment: {},
      flags: { databaseUrl: server.database.url, "edge.kind": "varnish", "edge.urls": [url] },
    });
  const found = async (url: string) => (await checkCdn(configOf(url)))[0]!;
  t.match(await found(cache.url), { ok: true, found: /takes purges, and drops what they name/ });

  const other = async (...change: readonly [what: string, by: string][]) => {
    const otherPort = await freePort();
    const started = await startVarnish(otherPort, server.nodes[1]!.port, change);
    try {
      return await found(started.url);
    } finally {
      await started.stop();
    }
  };
  t.match(
    await other(),
    { ok: true, found: /keeps nothing/, advice: /has not told Varnish for a minute/ },
    "nobody tells this one",
  );
  t.match(
    await other(
      ["xkey.softpurge(req.http.mapwright-keys)", "0"],
      ['std.time(var.global_get("mapwright-told"), now - 1d) + 60s < now', "false"],
      ['std.time(var.global_get("mapwright-told"), now - 1d) > now + 5s', "false"],
    ),
    { ok: false, found: /shows what they should have dropped/, advice: /mapwright\.vcl/ },
    "this one drops nothing",
  );
  t.match(await found(`http://127.0.0.1:${await freePort()}`), { ok: false, found: /does not take purges/ });
});

t.test("edits go on without it, and say that it is behind", async (t) => {
  await cache.stop();
  for (let round = 0; round < 3; round++) {
    const { status, headers } = await move(round);
    t.same([status, headers.get("x-edge")], [200, "pending"]);
  }
  cache = await startVarnish(port, server.nodes[1]!.port);
  await waitFor(async () => (await move(5)).headers.get("x-edge") === "purged");
});
