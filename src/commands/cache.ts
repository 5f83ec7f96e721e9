import type { Command } from "commander";
import { globLiteral } from "../access/sessions.js";
import { counted } from "../counted.js";
import { programName } from "../program-name.js";
import { eachMatching } from "../storage/redis/together.js";
import type { Redis } from "../storage/redis.js";
import { tileKeys } from "../tiles/store.js";
import * as warm from "./cache-warm.js";
import { type CommandEnvironment, report, withServices } from "./environment.js";

/** mapwright cache warm, mapwright cache purge */
export function register(program: Command, env: CommandEnvironment): void {
  const cache = program.command("cache").description("manage the tile cache");
  warm.register(cache, env);

  cache
    .command("purge")
    .description("delete every cached tile: in Redis, in the memory of running nodes, and at the edge")
    .addHelpText(
      "after",
      `\nEdits need no purge: a tile that an edit touches is rendered again by itself.\n\nExample:\n  $ ${programName()} cache purge`,
    )
    .action(async (_options: unknown, command: Command) => {
      await withServices(env, command, async ({ db, config, tilesRedis }) => {
        const count = await purgeTiles(await tilesRedis(), config.redisPrefix);
        // After Redis, so that no node fills its memory from there again.
        await db.execute("update edge set target = ''");
        await db.execute("select pg_notify('mapwright', 'C')");
        report(env, command, {
          message: `${counted(count, "key")} deleted from Redis; running nodes delete what they hold.`,
          value: { deleted: count },
        });
      });
    });
}

/** Deletes the tiles' keys. */
async function purgeTiles(redis: Redis, prefix: string): Promise<number> {
  let count = 0;
  await eachMatching(redis, `${globLiteral(prefix)}${tileKeys}*`, async (server, keys) => {
    if (!redis.isCluster) count += await server.unlink(keys);
    else {
      // The keys of one command would have to be in one slot.
      const pipeline = server.pipeline();
      for (const key of keys) pipeline.unlink(key);
      for (const [, deleted] of (await pipeline.exec()) ?? []) count += Number(deleted ?? 0);
    }
  });
  return count;
}
