import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { png } from "../../src/tiles/formats.js";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/**
 * What a node remembers is bounded, however many things it is asked for. A million of each would take long, so the bounds
 * are small here: when they are reached, the heap must not grow any more. It goes up and down by half a mebibyte by itself;
 * what would show is 100 to 250 bytes for each entry, which is hardly more than a key takes.
 */

const mebibyte = 1024 ** 2;
const mostBytesLeft = mebibyte;

const server = await startServer({
  config: {
    "catalog.memoryBytes": mebibyte,
    "tiles.memoryBytes": mebibyte,
    "tiles.addressBytes": mebibyte,
    "tiles.planBytes": mebibyte,
    "tiles.redisSeconds": 0,
  },
});
t.teardown(() => server.stop());
const { catalog, planner, tiles } = server.nodes[0]!.services;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function heapBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 4; round++) {
    collectGarbage();
    // Registries of what was collected are cleared in a turn of their own.
    await new Promise((resolve) => setTimeout(resolve, 20));
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

/** Asserts that so many entries, after those that fill the bounds, leave nothing in memory. */
async function leaveNothing(
  t: { ok(value: boolean, message: string): unknown },
  { fill, count }: { readonly fill: number; readonly count: number },
  enter: (first: number, count: number) => Promise<void>,
): Promise<void> {
  await enter(0, fill);
  const before = await heapBytes();
  await enter(fill, count);
  const left = (await heapBytes()) - before;
  t.ok(left < mostBytesLeft, `each of ${count} leaves ${(left / count).toFixed(1)} bytes`);
}

await makeMap(server, "m");
const layers: number[] = [];
for (let index = 0; index < 14; index++)
  layers.push((await makeStyledLayer(server, "m", `l${index}`, "#a { polygon-fill: #f00; }")).id);

t.test("plans", async (t) => {
  const map = await catalog.map("p", "m");
  const coord = { z: 6, x: 33, y: 30 };
  await leaveNothing(t, { fill: 4_000, count: 12_000 }, async (first, count) => {
    for (let subset = first; subset < first + count; subset++) {
      // Else registries of what is gone grow until the end.
      if (subset % 1_000 === 0) await heapBytes();
      const wanted = layers.filter((_, index) => (subset >> index) & 1);
      const wish = {
        coord,
        base: false,
        layers: wanted,
        scale: 1,
        language: undefined,
        format: png,
        quality: 0,
      } as const;
      await planner.plan(map, publicCaller, wish);
    }
  });
  t.ok(planner.counts().bytes <= mebibyte, `${planner.counts().plans} plans are kept`);
});

t.test("addresses", async (t) => {
  const address = tileUrl(server, "m", { lon: 10, lat: 10, z: 6 }, "&base=0");
  await (await fetch(address)).arrayBuffer();
  const drawn = tiles.rendered;
  await leaveNothing(t, { fill: 2_000, count: 10_000 }, async (first, count) => {
    let next = first;
    const client = async () => {
      while (next < first + count) {
        const number = next++;
        const spelled = `&lng=${number % 2 ? "en" : "xx"}&layers=${layers},${10 ** 9 + number}&n=${number}`;
        const answer = await fetch(address + spelled);
        await answer.arrayBuffer();
        if (answer.status !== 200) throw new Error(`${answer.status}`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
  });
  t.equal(tiles.rendered, drawn, "one picture");
});

t.test("tiles", async (t) => {
  const before = tiles.rendered;
  // Of sixteen tiles each.
  await leaveNothing(t, { fill: 200, count: 500 }, async (first, count) => {
    for (let metatile = first; metatile < first + count; metatile++) {
      const answer = await fetch(`${server.url}/tms/p/m/?x=${4 * metatile}&y=0&z=12&base=0`);
      await answer.arrayBuffer();
    }
  });
  t.equal(tiles.rendered - before, 700);
});

t.test("projects and maps", async (t) => {
  await server.sql.query(
    `with made as (insert into project (code) select 'many' || n from generate_series(0, 6499) n returning id, code)
     insert into map (project_id, code, name) select id, 'm', code from made`,
  );
  await server.nodes[0]!.services.changes.propagate();
  await leaveNothing(t, { fill: 2_500, count: 4_000 }, async (first, count) => {
    for (let number = first; number < first + count; number++) await catalog.map(`many${number}`, "m");
  });
});
