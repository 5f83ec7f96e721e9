import t from "tap";
import { startNode } from "../../src/node.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startNginx } from "../support/proxies.js";
import { startServer } from "../support/server.js";

/** A real nginx in front of a node keeps tiles and asks for each whether it is current. */

const server = await startServer({ config: { "edge.kind": "nginx" } });
t.teardown(() => server.stop());
const cache = await startNginx({ nodes: [server.nodes[0]!.port] });
t.teardown(() => cache.stop());
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });

const address = tileUrl(server, "m", { lon: 10.5, lat: 50.5, z: 6 }, "&base=0").replace(
  server.url,
  cache.url,
);
async function get(headers: Record<string, string> = {}, url = address) {
  const answer = await fetch(url, { headers });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return {
    ...{ status: answer.status, bytes, headers: answer.headers },
    cache: answer.headers.get("x-cache"),
  };
}

t.test("a tile is kept, and asked for by its ETag", async (t) => {
  const first = await get();
  t.equal(first.cache, "MISS");
  t.equal(first.headers.get("x-accel-expires"), null, "meant for nginx alone");
  const second = await get();
  t.equal(second.cache, "REVALIDATED");
  t.same(second.bytes, first.bytes);
  t.equal((await get({ "if-none-match": first.headers.get("etag")! })).status, 304);
});

t.test("an edit is seen at once", async (t) => {
  const before = await get();
  const edit = await server.api("PUT", `m/layers/a/objects/${object}/`, {
    token,
    body: { geom: square(10.2, 50.2, 1) },
  });
  t.equal(edit.status, 200);
  const after = await get();
  t.notSame(after.bytes, before.bytes);
  t.equal(after.cache, "EXPIRED");
});

t.test("what somebody sees is not kept for others", async (t) => {
  const { key } = (await server.api("POST", "m/tile-key/", { token, body: {} })).json;
  for (const [headers, url] of [
    [{ "x-token": token }, address],
    [{ authorization: `Bearer ${token}` }, address],
    [{}, `${address}&token=${token}`],
    [{}, `${address}&key=${key}`],
  ] as const) {
    const answer = await get(headers, url);
    t.equal(answer.headers.get("cache-control"), "private, no-store");
    t.match(answer.cache, /BYPASS|MISS/);
  }
  t.equal((await get()).cache, "REVALIDATED");
});

t.test("events of changes come through", async (t) => {
  const controller = new AbortController();
  const answer = await fetch(`${cache.url}/tms/p/m/changes/`, { signal: controller.signal });
  const reader = answer.body!.getReader();
  const { value } = await reader.read();
  t.match(Buffer.from(value!).toString(), /^retry: 2000\nid: /);
  controller.abort();
});

t.test("while no node can be reached, nothing is shown that nobody can prove", async (t) => {
  const leaving = await startNode({ ...server.nodes[0]!.services.config, port: 0 }, quietLog);
  const before = await startNginx({ nodes: [leaving.port] });
  t.teardown(before.stop);
  const url = address.replace(cache.url, before.url);
  await get({}, url);
  await leaving.stop(1_000);
  t.equal((await get({}, url)).status, 502, "it may have been made private since, which nobody tells nginx");
  t.equal((await get({}, `${before.url}/api/2.8/p/m/layers/a/count/`)).status, 502);
});
