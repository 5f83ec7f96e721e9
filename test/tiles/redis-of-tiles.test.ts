import t from "tap";
import { loadConfig } from "../../src/config.js";
import { startNode } from "../../src/node.js";
import { quietLog } from "../support/log.js";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { testRedisUrl } from "../support/redis.js";
import { startServer, waitFor } from "../support/server.js";

/** Tiles and sessions lie in two places, of which one may be away. */

const nowhere = "redis://127.0.0.1:1";
const place = { lon: 0, lat: 0, z: 3 };

t.test("sessions do not lie where tiles lie", async (t) => {
  const server = await startServer({ config: { tilesRedisUrl: nowhere } });
  t.teardown(() => server.stop());
  await makeMap(server, "m");
  await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
  t.equal((await fetch(tileUrl(server, "m", place, ""))).status, 200);
  const { redis, config } = server.nodes[0]!.services;
  t.equal((await redis.keys(`${config.redisPrefix}t:*`)).length, 0);
  t.ok((await redis.keys(`${config.redisPrefix}s:*`)).length > 0);
});

t.test("tiles do not lie where sessions lie", async (t) => {
  const first = await startServer();
  t.teardown(() => first.stop());
  await makeMap(first, "m");
  await makeStyledLayer(first, "m", "a", "#a { polygon-fill: #f00; }");
  const { redis } = first.nodes[0]!.services;
  const redisPrefix = `${first.nodes[0]!.services.config.redisPrefix}other:`;
  const { config } = first.nodes[0]!.services;
  const flags = { ...config, port: 0, redisUrl: nowhere, tilesRedisUrl: testRedisUrl(), redisPrefix };
  const node = await startNode(loadConfig({ environment: {}, flags }), quietLog);
  t.teardown(() => node.stop(1_000));
  const url = tileUrl(first, "m", place, "").replace(first.url, `http://127.0.0.1:${node.port}`);
  t.equal((await fetch(url)).status, 200);
  await waitFor(async () => (await redis.keys(`${redisPrefix}t:*`)).length > 0);
});
