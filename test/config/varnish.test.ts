import t from "tap";
import { freePort, startVarnish } from "../../bench/caches.js";
import { waitFor } from "../support/server.js";
import { Node } from "./node.support.js";

/** Varnish by the shipped files, before two nodes. With real ones: `test/cdn`. */

const nodes = [await new Node().start(), await new Node().start()] as const;
const ports = nodes.map((node) => node.port);
for (const node of nodes) t.teardown(() => node.stop());
const cache = await startVarnish(await freePort(), ports, [["60s < now", "1s < now"]]);
t.teardown(() => cache.stop());

const get = async (path = "/api/") => (await fetch(cache.url + path)).status;
const purge = (url: string, headers: Record<string, string>) => fetch(url, { method: "PURGE", headers });
/** Whether a node gets nothing of some requests, all of which are answered. */
async function getsNothing(node: Node): Promise<boolean> {
  node.asked.length = 0;
  for (let n = 0; n < 6; n++) if ((await get()) !== 200) return false;
  return node.asked.length === 0;
}

t.test("each has its share", async (t) => {
  await waitFor(async () => {
    t.equal(await get(), 200);
    return nodes.every((node) => node.asked.length > 0);
  });
});

t.test("a node that is not ready gets nothing, but when none is", async (t) => {
  nodes[0].isReady = false;
  await waitFor(() => getsNothing(nodes[0]));
  nodes[1].isReady = false;
  await waitFor(async () => (await get()) === 200 && nodes[0].asked.length > 0);
  for (const node of nodes) node.isReady = true;
  await waitFor(async () => !(await getsNothing(nodes[0])) && !(await getsNothing(nodes[1])));
  t.pass("both have work again");
});

t.test("what a node refuses goes to the other", async (t) => {
  nodes[1].stop();
  for (let n = 0; n < 6; n++) t.equal(await get(), 200);
});

t.test("while none can be reached, what is kept and was not dropped is shown", async (t) => {
  const look = async (path: string) => {
    const answer = await fetch(cache.url + path);
    await answer.text();
    return [answer.status, answer.headers.get("x-cache")];
  };
  // As Mapwright begins.
  await purge(cache.url, { "mapwright-forgotten": "mapwright" });
  for (const [path, key] of [
    ["/tms/kept.png", "kept"],
    ["/tms/dropped.png", "dropped"],
  ] as const) {
    nodes[0].headers = { "Surrogate-Key": key, "Cache-Control": "public, max-age=0, s-maxage=86400" };
    await purge(cache.url, { "mapwright-told": "1" });
    await look(path);
    t.same(await look(path), [200, "hit"]);
  }
  await purge(cache.url, { "mapwright-keys": "dropped" });
  nodes[0].stop();
  await waitFor(async () => (await get()) === 503);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await waitFor(async () => (await look("/tms/kept.png"))[1] === "hit");
  t.equal((await look("/tms/dropped.png"))[0], 503, "an edit has made it old");
  await nodes[0].start(ports[0]);
  await waitFor(async () => (await look("/tms/kept.png"))[1] === "miss");
  t.pass("once there is one, it is asked");
});

t.test("only those in the list may tell it anything", async (t) => {
  t.equal((await purge(cache.url, { "mapwright-keys": "a" })).status, 200);
  const other = await startVarnish(await freePort(), ports, [
    ['    "localhost";\n    "127.0.0.1";\n    "::1";', '    "10.0.0.11";\n    "10.0.0.12";'],
  ]);
  t.teardown(() => other.stop());
  t.equal((await purge(other.url, { "mapwright-keys": "a" })).status, 403);
});
