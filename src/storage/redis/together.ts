import type { RedisClient } from "./client.js";

/** What is done with many keys at once, on one server and in a cluster. */

/**
 * Values that are cached, in the order of their keys: by one command, in a cluster by one pipeline for each server. Those of a
 * server that fails there are missing.
 * @throws Error when the only server fails
 */
export async function readTogether(
  redis: Pick<RedisClient, "isCluster" | "mgetBuffer" | "pipeline" | "serverOf">,
  keys: string[],
): Promise<(Buffer | null)[]> {
  if (!redis.isCluster) return redis.mgetBuffer(keys);
  const values = new Array<Buffer | null>(keys.length).fill(null);
  await Promise.all(
    byServer(redis, keys).map(async (places) => {
      const pipeline = redis.pipeline();
      for (const place of places) pipeline.getBuffer(keys[place]!);
      const answers = (await pipeline.exec().catch(() => null)) ?? [];
      for (const [index, [error, value]] of answers.entries())
        if (!error) values[places[index]!] = value as Buffer | null;
    }),
  );
  return values;
}

export interface CachedValue {
  readonly key: string;
  readonly value: Buffer;
  readonly seconds: number;
}

/** Stores values of caches in one round trip, to each server of a cluster. */
export async function storeTogether(
  redis: Pick<RedisClient, "isCluster" | "pipeline" | "serverOf">,
  values: readonly CachedValue[],
): Promise<void> {
  const keys = values.map(({ key }) => key);
  await Promise.all(
    byServer(redis, keys).map((places) => {
      const pipeline = redis.pipeline();
      for (const place of places) {
        const { key, value, seconds } = values[place]!;
        pipeline.set(key, value, "EX", seconds);
      }
      return pipeline.exec();
    }),
  );
}

/** The places of keys in the list, those of each server together. */
function byServer(redis: Pick<RedisClient, "isCluster" | "serverOf">, keys: readonly string[]): number[][] {
  const all = keys.map((_, place) => place);
  if (!redis.isCluster) return [all];
  const places = new Map<string, number[]>();
  for (const place of all) {
    const server = redis.serverOf(keys[place]!);
    const known = places.get(server);
    if (known) known.push(place);
    else places.set(server, [place]);
  }
  return [...places.values()];
}

/**
 * Goes through the keys that match a pattern, on all servers, in batches, so that no server is blocked.
 * @param work is given a server and some of its keys
 */
export async function eachMatching(
  redis: RedisClient,
  pattern: string,
  work: (server: ReturnType<RedisClient["primaries"]>[number], keys: string[]) => Promise<void>,
): Promise<void> {
  for (const server of redis.primaries()) {
    let cursor = "0";
    do {
      const [next, keys] = await server.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
      cursor = next;
      if (keys.length > 0) await work(server, keys);
    } while (cursor !== "0");
  }
}
