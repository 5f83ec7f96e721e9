import { Redis } from "ioredis";
import type { Log } from "../log.js";

export type { Redis } from "ioredis";

/**
 * A client of Redis whose commands fail at once while there is no connection, instead of waiting for it. The caller
 * decides what that means: for a cache a miss, for a session a refusal.
 */
export function openRedis(url: string, log: Log): Redis {
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
    // Without an answer for so long the connection is given up: what is sent would pile up in memory.
    socketTimeout: 5_000,
    connectTimeout: 2_000,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, 1_000),
    lazyConnect: true,
  };
  const redis = url.startsWith("unix://")
    ? new Redis(url.slice("unix://".length), options)
    : new Redis(url, options);
  let down = false;
  redis.on("error", (error: Error) => {
    if (!down) log.warn({ err: error }, "Redis cannot be reached");
    down = true;
  });
  redis.on("ready", () => {
    if (down) log.info("Redis is back");
    down = false;
  });
  return redis;
}
