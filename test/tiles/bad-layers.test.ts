import t from "tap";
import { LayerVersion } from "../../src/changes/layer-version.js";
import { systemClock } from "../../src/clock.js";
import type { MercatorBox } from "../../src/geo/tile.js";
import { openRedis } from "../../src/storage/redis.js";
import { BadLayers } from "../../src/tiles/bad-layers.js";
import type { TileEncoding } from "../../src/tiles/formats.js";
import { TileMemory } from "../../src/tiles/memory.js";
import { LayersMissing, type MissingCause, type MissingLayer } from "../../src/tiles/missing-layer.js";
import type { TilePlan } from "../../src/tiles/plan.js";
import { TileStore } from "../../src/tiles/store.js";
import { layersElsewhere, TileService } from "../../src/tiles/tile-service.js";
import { quietLog } from "../support/log.js";
import { testRedisUrl } from "../support/redis.js";

/** When a layer that could not be drawn is tried again, and by which tiles. */

const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();
t.teardown(() => redis.disconnect());

/** What is east of Greenwich at zoom 3, with the tiles there, and one far west of it. */
const east: MercatorBox = [1_000_000, 1_000_000, 19_000_000, 19_000_000];
const [here, far] = [{ z: 3, x: 6, y: 2 }, 0] as const;

function planOf(layers: readonly LayerVersion[], missing: readonly MissingLayer[] = [], scale = 1): TilePlan {
  return {
    key: `${layers.map(({ id }) => id).join()}@${scale}`,
    layers,
    missing,
    complete: missing.length === 0,
    without: async (more) => {
      const left = new Set(more.map(({ id }) => id));
      return planOf(
        layers.filter(({ id }) => !left.has(id)),
        [...missing, ...more],
        scale,
      );
    },
    drawingOf: (id) => `drawing ${id}@${scale}`,
    ...{
      bufferPixels: 8,
      reachPixels: 8,
      collides: false,
      isDrawnAlike: false,
      owner: "p1",
      epoch: "e",
      projectId: 1,
    },
    ...{ sources: [], mapSources: [], asOf: 0, visualized: [], maps: [{ id: 1, layers: [] }] },
  };
}

/** Layers 1, 2 … with objects in the east, of which some cannot be drawn there. */
function open(count: number) {
  const clock = { ...systemClock, ms: 0, now: () => clock.ms };
  const bad = new BadLayers(clock);
  const memory = new TileMemory(1_000_000);
  const broken = new Map<number, MissingCause>();
  /** Layers that were tried in the east, by turns. */
  const tried: (readonly number[])[] = [];
  const service = new TileService<TilePlan, TileEncoding>({
    changes: {
      trusted: true,
      epoch: "e",
      refresh: async () => undefined,
      locate: async (layers) => {
        for (const layer of layers) layer.setExtent(east, layer.version);
      },
    },
    clock,
    memory,
    store: new TileStore(redis, "", 0, memory, clock),
    lockMs: 0,
    side: () => 1,
    bad,
    make: async ({ plan, origin, count }) => {
      const elsewhere = layersElsewhere(plan, origin, count);
      const drawn = plan.layers.map(({ id }) => id).filter((id) => !elsewhere.has(id));
      if (drawn.length > 0) tried.push(drawn);
      const missing = drawn.flatMap((id) => {
        const cause = broken.get(id);
        return cause ? [{ id, code: `l${id}`, cause }] : [];
      });
      bad.note(plan, origin.z, missing);
      if (missing.length > 0) throw new LayersMissing(missing, false);
      return [{ bytes: new Uint8Array([1]), hash: "h".repeat(20), solid: undefined }];
    },
    onServed: () => undefined,
    onMissing: () => undefined,
  });
  const layers = Array.from({ length: count }, (_, index) => new LayerVersion(index + 1, 7));
  let asked = 0;
  /** Codes of the layers that a tile lacks. */
  const lacks = async (x: number = here.x, scale = 1) => {
    const plan = planOf(layers, [], scale);
    const request = { plan, coord: { ...here, x }, format: { name: `f${++asked}`, mediaType: "" } };
    const { missing = [] } = await service.tile({
      ...request,
      quality: 0,
      signal: () => new AbortController().signal,
    });
    return missing.map(({ code }) => code).sort();
  };
  return { clock, broken, tried, lacks };
}

t.test("a layer that is well again is drawn while another one stays broken", async (t) => {
  const { clock, broken, lacks } = open(3);
  broken.set(1, "file").set(2, "file");
  t.same(await lacks(), ["l1", "l2"]);
  broken.delete(2);
  t.same(await lacks(), ["l1", "l2"], "not at once");
  clock.ms = 4_000;
  t.same(await lacks(), ["l1"]);
  clock.ms = 8_000;
  t.same(await lacks(), ["l1"]);
});

t.test("and also when the other one is not to be tried just then", async (t) => {
  const { clock, broken, lacks } = open(3);
  broken.set(1, "file");
  t.same(await lacks(), ["l1"]);
  clock.ms = 2_000;
  broken.set(2, "failure");
  t.same(await lacks(), ["l1", "l2"]);
  clock.ms = 5_000;
  t.same(await lacks(), ["l1", "l2"], "the first is tried");
  broken.delete(2);
  clock.ms = 7_000;
  t.same(await lacks(), ["l1"], "the second is tried");
});

t.test("tiles where a layer has no objects do not tell whether it can be drawn", async (t) => {
  const { clock, broken, tried, lacks } = open(1);
  broken.set(1, "overrun");
  t.same(await lacks(), ["l1"]);
  t.same(await lacks(far), ["l1"]);
  const seconds: number[] = [];
  let count = tried.length;
  for (; seconds.length < 4; clock.ms += 1_000) {
    await lacks(far);
    t.same(await lacks(), ["l1"]);
    if (tried.length > count) seconds.push(clock.ms / 1_000);
    count = tried.length;
  }
  t.same(seconds, [30, 90, 210, 450]);
  clock.ms += 600_000;
  t.same(await lacks(far), [], "nor do they lack it for ever");
  broken.clear();
  t.same(await lacks(), []);
  t.same(await lacks(far), []);
});

t.test("a layer that is asked for in several drawings is tried in each of them once", async (t) => {
  const { broken, tried, lacks } = open(2);
  broken.set(1, "overrun");
  for (const scale of [1, 2, 1, 2, 3, 2, 1]) t.same(await lacks(here.x, scale), ["l1"]);
  t.equal(tried.filter((layers) => layers.includes(1)).length, 3);
});
