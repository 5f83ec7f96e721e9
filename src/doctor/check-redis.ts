import type { Config } from "../config.js";
import { reasonOf } from "../errors.js";
import { createLog } from "../log.js";
import { parseRedisUrl } from "../redis-url.js";
import { infoOf } from "../storage/redis/info.js";
import { namedPrimary } from "../storage/redis/named-primary.js";
import { connectInTime, openRedis, type Redis } from "../storage/redis.js";
import { bad, type Check, good } from "./check.js";

/** The check of Redis by `mapwright doctor`. */

type RedisSettings = Pick<Config, "redisUrl" | "tilesRedisUrl" | "redisPrefix">;

export async function checkRedis({ redisUrl, tilesRedisUrl, redisPrefix }: RedisSettings): Promise<Check[]> {
  const checks = [checkOne({ url: redisUrl, prefix: redisPrefix, hasOnlyTiles: false })];
  if (tilesRedisUrl !== "")
    checks.push(checkOne({ url: tilesRedisUrl, prefix: redisPrefix, hasOnlyTiles: true }));
  return Promise.all(checks);
}

interface RedisOfOnePlace {
  readonly url: string;
  readonly prefix: string;
  /** Which it may evict. */
  readonly hasOnlyTiles: boolean;
}

async function checkOne({ url, prefix, hasOnlyTiles }: RedisOfOnePlace): Promise<Check> {
  const name = hasOnlyTiles ? "Redis of tiles" : "Redis";
  const redis = openRedis(url, createLog("silent", "doctor"), { prefix });
  try {
    await connectInTime(redis);
    await redis.ask();
    const { trouble } = redis;
    if (trouble !== undefined) return bad(name, trouble, adviceOn(hasOnlyTiles));
    return await checkSettings(name, redis, { url, hasOnlyTiles });
  } catch (error) {
    const start = hasOnlyTiles
      ? "start it, or change tilesRedisUrl"
      : "start it (`npm start` starts a private one), or give its address in REDIS_URL";
    const reason = reasonOf(error);
    const advice = /^(NOAUTH|WRONGPASS)/.test(reason)
      ? "give the right password in the address"
      : ((await adviceOnFailover(url)) ?? adviceOnUrl(url));
    return bad(name, `cannot be reached: ${reason}`, advice ?? start);
  } finally {
    redis.disconnect();
  }
}

const adviceOn = (hasOnlyTiles: boolean): string =>
  `change ${hasOnlyTiles ? "tilesRedisUrl" : "REDIS_URL"}, or the server: the page on Redis says how`;

/** When Sentinel names a primary, which is not one that can be used just now. */
async function adviceOnFailover(url: string): Promise<string | undefined> {
  const place = parseRedisUrl(url);
  const primary = place?.kind === "sentinel" ? await namedPrimary(place) : undefined;
  if (primary === undefined) return undefined;
  return (
    `wait for Sentinel to end its failover, and ask again; if that stays so, start the server ${primary}, which it calls the ` +
    "primary, or look into its log"
  );
}

/** When nothing answers behind the address, or not what it promises. */
function adviceOnUrl(url: string): string | undefined {
  const place = parseRedisUrl(url);
  if (place?.kind === "sentinel")
    return `look whether Sentinel runs at these addresses, and knows a primary named ${place.name}`;
  if (place?.kind === "cluster")
    return "look whether a Redis with cluster-enabled yes runs at these addresses";
  return undefined;
}

async function checkSettings(
  name: string,
  redis: Redis,
  { url, hasOnlyTiles }: Pick<RedisOfOnePlace, "url" | "hasOnlyTiles">,
): Promise<Check> {
  const { redis_version: version = "unknown version" } = infoOf(await redis.info("server"));
  const [major = 0, minor = 0] = version.split(".").map(Number);
  // Sessions use GETEX, which came with Redis 6.2.
  const fits = major > 6 || (major === 6 && minor >= 2);
  if (!fits) return bad(name, version, "6.2 or later is needed");
  const fine = good(name, `${version}${kindOf(url, redis)}`);
  const { maxmemory, maxmemory_policy: policy } = infoOf(await redis.info("memory"));
  const evicts = maxmemory !== "0" && policy !== "noeviction";
  if (hasOnlyTiles || !evicts) return fine;
  const advice =
    "when its memory is full, sessions may be evicted: give tiles a Redis of their own (tilesRedisUrl), and this one " +
    "maxmemory-policy noeviction";
  return { ...fine, advice };
}

function kindOf(url: string, redis: Redis): string {
  const place = parseRedisUrl(url);
  if (place?.kind === "sentinel") return `, the primary that Sentinel calls ${place.name}`;
  return place?.kind === "cluster" ? `, a cluster of ${redis.primaries().length}` : "";
}
