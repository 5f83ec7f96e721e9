import { openTileKeys } from "../../src/access/tile-keys.js";
import { systemClock } from "../../src/clock.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { ownCpuSeconds } from "../cpu.js";
import { mapCode } from "../import.js";
import { loadCounting } from "../load.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";
import { startServer } from "../server.js";
import { openSession } from "../sessions.js";
import { throughputFigures } from "../throughput.js";
import { typicalTile } from "./cached.js";

/**
 * A tile in the memory of the node, asked for by a key for its map, beside the same one asked for by the token of a session:
 * both are looked up in Redis for each tile. CPU time is that of the server and Redis.
 */

const connections = 50;
const redisPrefix = "bench-keys:";

export async function keyedTile({ world, tiles, size }: Context): Promise<Row[]> {
  const config = world.config({ redisPrefix });
  const server = await startServer(config, world.log);
  try {
    const { path, body } = await typicalTile(server.url, tiles(100, 7));
    const { token, key } = await withCatalogue(world, async (catalogue) => {
      const user = { login: "bench", role: "viewer", prefix: redisPrefix } as const;
      const { token, accountId } = await openSession(world, catalogue, user);
      const keys = openTileKeys(world.redis, {
        idleSeconds: config.sessionIdleSeconds,
        seconds: config.tileKeySeconds,
        prefix: redisPrefix,
        clock: systemClock,
      });
      const { id: mapId } = await catalogue.map(mapCode);
      return { token, ...(await keys.make(token, { accountId, mapId })) };
    });
    const cpu = () => ownCpuSeconds(server.pid) + ownCpuSeconds(world.redisPid);
    const side = (query: string) => () =>
      loadCounting(cpu, {
        url: `${server.url}${path}&${query}`,
        ...{ connections, seconds: size.seconds, status: 200 },
      });
    return await compare(
      size,
      side(`key=${key}`),
      [side(`token=${token}`)],
      throughputFigures(
        `tile with a key (${(body.length / 1000).toFixed(1)} kB), one with a token`,
        "requests",
        {
          perCpuSecond: 0.85,
        },
      ),
    );
  } finally {
    await server.stop();
  }
}
