import t from "tap";
import { systemClock } from "../../src/clock.js";
import { openRedis } from "../../src/storage/redis.js";
import { TileMemory } from "../../src/tiles/memory.js";
import { TileStore } from "../../src/tiles/store.js";
import type { Tile } from "../../src/tiles/tile.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";

/** Tiles in Redis that show what is not ours: they go when they expire. */

const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();
t.teardown(() => redis.disconnect());
const prefix = freshPrefix();
const store = new TileStore(redis, prefix, 1_000, new TileMemory(1_000_000), systemClock);
const tile = (more: Partial<Tile>): Tile => ({
  bytes: new Uint8Array([1, 2, 3]),
  hash: "a".repeat(20),
  solid: undefined,
  versions: [7, 8],
  ...more,
});
/** Stores a tile, which happens in the background, and one after it. */
async function put(key: string, more: Partial<Tile>): Promise<Tile | undefined> {
  store.put([[key, tile(more)]]);
  store.put([[`${key} after`, tile({})]]);
  while (!(await store.get(`${key} after`))) await systemClock.turn();
  return store.get(key);
}
const secondsOf = async (key: string) => redis.ttl((await redis.keys(`${prefix}*:${key}`))[0] ?? "");

t.test("a tile that does not expire is kept as long as tiles are", async (t) => {
  t.same(await put("lasting", {}), tile({}));
  t.ok((await secondsOf("lasting")) > 990);
});

t.test("one that expires is kept until then", async (t) => {
  const now = systemClock.now();
  const found = await put("passing", { expiresAt: now + 300_000, solid: 5 });
  t.match(found, { versions: [7, 8], solid: 5, bytes: new Uint8Array([1, 2, 3]) });
  t.ok(found!.expiresAt! > now + 290_000 && found!.expiresAt! <= now + 300_000);
  const seconds = await secondsOf("passing");
  t.ok(seconds > 280 && seconds <= 300, `${seconds}`);
});

t.test("what is found near its end is shown no longer than that", async (t) => {
  const now = systemClock.now();
  const found = await put("short", { expiresAt: now + 2_500 });
  t.ok(found!.expiresAt! <= now + 2_500, `${found!.expiresAt! - now}`);
});

t.test("one that is about to expire is not shared", async (t) => {
  t.equal(await put("ending", { expiresAt: systemClock.now() + 500 }), undefined);
});
