import { createServer } from "node:http";
import { type AddressInfo, createServer as listening, type Server } from "node:net";
import t from "tap";
import { checkRedis } from "../../src/doctor/check-redis.js";
import { RedisState } from "../../src/storage/redis/state.js";
import { quietLog } from "../support/log.js";
import { RedisServers } from "../support/redis-servers.js";

/** What `doctor` says of Redis, whatever stands behind the address, and in time. */

const servers = await RedisServers.create();
const alone = await servers.start();
const locked = await servers.start([], { password: "x" });
const replica = await servers.start([`replicaof 127.0.0.1 ${alone.port}`]);
const nodes = await servers.cluster();
const { primary, sentinel } = await servers.withSentinel("secret");
/** What a Sentinel sees until it has promoted another server. */
const failing = await servers.start();
const late = (port: number) =>
  servers.start(
    [`sentinel monitor maps 127.0.0.1 ${port} 1`, "sentinel down-after-milliseconds maps 600000"],
    {
      mode: "--sentinel",
    },
  );
const [ofFailing, ofReplica] = [await late(failing.port), await late(replica.port)];
const hung = await servers.start();
hung.pause();

const others: Server[] = [];
async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  others.push(server);
  return (server.address() as AddressInfo).port;
}
const silent = await portOf(listening());
const web = await portOf(createServer((_, answer) => answer.end("hello")));
t.teardown(async () => {
  for (const server of others) server.close();
  await servers.stop();
});

const check = async (redisUrl: string) =>
  (await checkRedis({ redisUrl, tilesRedisUrl: "", redisPrefix: "d:" }))[0]!;

t.test("what it should be", async (t) => {
  for (const [url, found] of [
    [alone.url, /^\d+\.\d+\.\d+$/],
    [locked.url, /^\d/],
    [primary.url, /^\d/],
    [
      `redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:${sentinel.port}/maps`,
      /the primary that Sentinel calls maps/,
    ],
    [`redis+cluster://127.0.0.1:1,127.0.0.1:${nodes[1]!.port}`, /a cluster of 3/],
  ] as const)
    t.match(await check(url), { ok: true, found }, url);
});

t.test("what it should not be", async (t) => {
  const wrong = [
    [locked.url.replace(":x@", ":y@"), /WRONGPASS/, /password/],
    [replica.url, /read-only replica/, /REDIS_URL/],
    [nodes[0]!.url, /node of a cluster/, /REDIS_URL/],
    [sentinel.url, /is a Sentinel/, /REDIS_URL/],
    [hung.url, /cannot be reached/, /start it/],
    [`redis://127.0.0.1:${silent}`, /cannot be reached/, /start it/],
    [`redis://127.0.0.1:${web}`, /cannot be reached/, /start it/],
    [`rediss://127.0.0.1:${alone.port}`, /cannot be reached/, /start it/],
    ["redis://nowhere.invalid", /nowhere\.invalid/, /start it/],
    [`redis+sentinel://127.0.0.1:${sentinel.port}/maps`, /NOAUTH/, /password/],
    [`redis+sentinel://:secret@127.0.0.1:${sentinel.port}/other`, /No such master/, /a primary named other/],
    [`redis+sentinel://127.0.0.1:${alone.port}/maps`, /unknown command/i, /whether Sentinel runs/],
    [`redis+sentinel://127.0.0.1:${silent}/maps`, /cannot be reached/, /whether Sentinel runs/],
    [`redis+cluster://127.0.0.1:${alone.port}`, /cluster support disabled/, /cluster-enabled/],
    [`redis+cluster://127.0.0.1:${silent}`, /cannot be reached/, /cluster-enabled/],
  ] as const;
  await Promise.all(
    wrong.map(async ([url, found, advice]) => t.match(await check(url), { ok: false, found, advice }, url)),
  );
});

t.test("a failover by Sentinel that is in progress", async (t) => {
  const wait = (port: number) => ({
    ok: false,
    advice: new RegExp(`^wait for Sentinel to end its failover, and ask again.*127\\.0\\.0\\.1:${port}`),
  });
  const bySentinel = (port: number) => `redis+sentinel://127.0.0.1:1,127.0.0.1:${port}/maps`;
  t.match(await check(bySentinel(ofReplica.port)), wait(replica.port), "not promoted");
  failing.pause();
  t.match(await check(bySentinel(ofFailing.port)), wait(failing.port), "hung");
  failing.resume();
  await failing.kill();
  t.match(await check(bySentinel(ofFailing.port)), wait(failing.port), "gone");
});

t.test("a server that is no primary is told by what leads to it", (t) => {
  for (const [finds, said] of [
    [false, /read-only replica.* of Sentinel/],
    [true, /is a replica still.* failover/],
  ] as const) {
    const state = new RedisState("Redis", quietLog, finds);
    state.set("*", "replica");
    t.match(state.text, said);
  }
  t.end();
});
