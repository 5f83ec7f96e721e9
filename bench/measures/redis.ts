import type { Config } from "../../src/config.js";
import { startChild } from "../child.js";
import type { Context } from "../context.js";
import { ownCpuSeconds } from "../cpu.js";
import { fetchAll } from "../fetch.js";
import { tilePath } from "../import.js";
import { load } from "../load.js";
import type { BareRedisRequest } from "../reference/http-redis.js";
import type { GetsRequest } from "../reference/redis.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { type Done, throughput, throughputFigures } from "../throughput.js";
import type { TileLoopRequest } from "../tile-loop.js";

/**
 * Tiles that only Redis has, twice. Without HTTP, beside a bare loop of `getBuffer` at the same concurrency: this has
 * the gate, in tiles per CPU second of the node process, for in wall-clock time both sides wait for the one Redis.
 * And over HTTP, beside a bare handler that answers with what `getBuffer` gives, for information: HTTP alone costs
 * several times what the loop does, so beside the loop it would compare the HTTP library with Redis.
 */

const concurrency = 50;

export async function tileFromRedis(context: Context): Promise<Row[]> {
  const { world, tiles, size } = context;
  const config = world.config({
    redisPrefix: "bench-redis:",
    "tiles.memoryBytes": 0,
    "tiles.addressBytes": 0,
  });
  const coords = tiles(Math.min(size.coldTiles, 200), 8);
  const server = await startServer(config, world.log);
  try {
    const paths = coords.map(tilePath);
    await fetchAll(
      paths.map((path) => server.url + path),
      8,
    );
    const keys = await keysOf(world.redis, `${config.redisPrefix}t:`, coords);
    const loops = await withoutHttp(context, config, { keys, coords });
    const bare = startChild<BareRedisRequest, { port: number }>("reference/http-redis.js");
    try {
      const { port } = await bare.ask({ redisUrl: config.redisUrl, keys });
      const side = (pid: number, url: string) => () =>
        load(pid, { url, connections: concurrency, seconds: size.seconds, status: 200, paths });
      const served = await compare(
        size,
        side(server.pid, server.url),
        [side(bare.pid, `http://127.0.0.1:${port}`)],
        throughputFigures("tile from Redis over HTTP, beside a bare handler", "tiles"),
      );
      return [...loops, ...served];
    } finally {
      await bare.stop();
    }
  } finally {
    await server.stop();
  }
}

async function withoutHttp(
  { size }: Context,
  config: Config,
  { keys, coords }: { keys: readonly string[]; coords: TileLoopRequest["coords"] },
): Promise<Row[]> {
  const ours = startChild<TileLoopRequest, Done>("tile-loop.js");
  const bare = startChild<GetsRequest, Done>("reference/redis.js");
  const { seconds } = size;
  const { redisUrl } = config;
  const side = (pid: number, work: () => Promise<Done>) => () => throughput(() => ownCpuSeconds(pid), work);
  try {
    return await compare(
      size,
      side(ours.pid, () => ours.ask({ config, coords, concurrency, seconds })),
      [side(bare.pid, () => bare.ask({ redisUrl, keys, concurrency, seconds }))],
      throughputFigures("tile from Redis, beside a getBuffer loop", "tiles", { perCpuSecond: 0.6 }),
    );
  } finally {
    await Promise.all([ours.stop(), bare.stop()]);
  }
}

/** Keys of these tiles: of the many drawn with them, those whose names end in their coordinates. */
async function keysOf(
  redis: Context["world"]["redis"],
  prefix: string,
  coords: TileLoopRequest["coords"],
): Promise<string[]> {
  const wanted = new Set(coords.map(({ z, x, y }) => `${z}/${x}/${y}`));
  const until = Date.now() + 5_000;
  for (;;) {
    const all = await redis.keys(`${prefix}*`);
    const keys = all.filter((key) => wanted.has(key.split("/").slice(-3).join("/")));
    if (keys.length === coords.length) return keys;
    // Answers do not wait until Redis has their tiles.
    if (Date.now() > until) throw new Error(`Redis has ${keys.length} of ${coords.length} tiles.`);
    await new Promise((wait) => setTimeout(wait, 50));
  }
}
