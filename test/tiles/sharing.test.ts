import t from "tap";
import { loadConfig } from "../../src/config.js";
import { startNode } from "../../src/node.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What nodes share: renders, and tiles through Redis. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const rendered = () => server.nodes.map((node) => node.services.tiles.rendered);
const total = () => rendered().reduce((sum, count) => sum + count, 0);
const get = async (url: string) => {
  const answer = await fetch(url);
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    body: Buffer.from(await answer.arrayBuffer()),
  };
};

await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
await addObject(server, "a", square(5, 5, 10), { map: "m" });

t.test("two nodes that are asked for one cold metatile at once draw it once", async (t) => {
  for (let round = 0; round < 5; round++) {
    const before = total();
    const place = { lon: 6 + round * 0.7, lat: 6 + round * 0.7, z: 12 };
    const tiles = await Promise.all(
      [0, 1, 0, 1].map((node) => get(tileUrl(server, "m", place, "&base=0", node))),
    );
    t.equal(new Set(tiles.map((tile) => tile.etag)).size, 1);
    t.equal(total() - before, 1, `round ${round}`);
  }
});

t.test(
  "a tile that one node drew, the others take from Redis, its neighbours in the metatile too",
  async (t) => {
    const place = { lon: -100, lat: 40, z: 12 };
    const side = 360 / 2 ** place.z;
    const first = await get(tileUrl(server, "m", place, "&base=0", 0));
    const before = total();
    t.same((await get(tileUrl(server, "m", place, "&base=0", 1))).body, first.body);
    for (const dx of [-1, 1]) {
      const tile = await get(tileUrl(server, "m", { ...place, lon: place.lon + dx * side }, "&base=0", 1));
      t.equal(tile.status, 200);
    }
    t.ok(total() - before <= 1, "at most one of two neighbours lies in another metatile");
  },
);

t.test("a node that starts later knows which of the tiles in Redis are still right", async (t) => {
  const kept = tileUrl(server, "m", { lon: -60, lat: -30, z: 8 }, "&base=0");
  const touched = tileUrl(server, "m", { lon: 7, lat: 7, z: 8 }, "&base=0");
  const before = [await get(kept), await get(touched)];
  await addObject(server, "a", square(6.5, 6.5, 1), { map: "m" });
  const { config } = server.nodes[0]!.services;
  const later = await startNode(loadConfig({ environment: {}, flags: { ...config, port: 0 } }), quietLog);
  t.teardown(() => later.stop(1_000));
  const moved = (url: string) => url.replace(server.urls[0]!, `http://127.0.0.1:${later.port}`);
  t.equal((await get(moved(kept))).etag, before[0]!.etag);
  t.equal(later.services.tiles.rendered, 0, "the untouched tile came from Redis");
  t.equal((await get(moved(touched))).status, 200);
  t.equal(later.services.tiles.rendered, 1, "the touched one was drawn");
});

t.test("a purge drops tiles from Redis and from the memory of every node", async (t) => {
  const place = { lon: 60, lat: 60, z: 9 };
  for (const node of [0, 1]) await get(tileUrl(server, "m", place, "&base=0", node));
  const before = total();
  const { redis, config } = server.nodes[0]!.services;
  const keys = await redis.keys(`${config.redisPrefix}t:*`);
  await redis.unlink(keys);
  await server.sql.query("select pg_notify('mapwright', 'C')");
  await new Promise((resolve) => setTimeout(resolve, 200));
  await get(tileUrl(server, "m", place, "&base=0", 1));
  t.equal(total() - before, 1);
});

t.test("tiles are served although everything in Redis is lost under load", async (t) => {
  const { redis } = server.nodes[0]!.services;
  let running = true;
  const flusher = (async () => {
    while (running) {
      const keys = await redis.keys(`${server.nodes[0]!.services.config.redisPrefix}*`);
      if (keys.length > 0) await redis.unlink(keys);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const statuses = new Set<number>();
  for (let index = 0; index < 30; index++) {
    const place = { lon: -150 + index * 10, lat: 20, z: 7 };
    const answers = await Promise.all(
      [0, 1].map((node) => get(tileUrl(server, "m", place, "&base=0", node))),
    );
    for (const answer of answers) statuses.add(answer.status);
  }
  running = false;
  await flusher;
  t.same([...statuses], [200]);
});
