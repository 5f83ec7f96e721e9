import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { systemClock } from "../../src/clock.js";
import { BadLayers } from "../../src/tiles/bad-layers.js";
import { mvt } from "../../src/tiles/vector/address.js";
import { VectorTiles } from "../../src/tiles/vector/tile.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { fetchVectors, vectorUrl } from "../support/vector-tiles.js";

/** What makes a vector tile too large is left out of it before it is received, and named; and what counts as too slow. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await makeMap(server, "m");
const style = "#a { marker-width: 4; }";

/** A layer with a column of texts, and so many more without values. */
async function makeTexts(
  code: string,
  more = 0,
): Promise<(points: number, length: number) => Promise<unknown>> {
  const { id } = await makeStyledLayer(server, "m", code, style);
  for (const column of ["name", ...Array.from({ length: more }, (_, n) => `c${n}`)])
    await server.api("POST", `m/layers/${code}/structure/`, {
      token,
      body: { code: column, type: "text", localized_value: false },
    });
  const { rows } = await server.sql.query(
    "select id from mapwright.layer_column where layer_id = $1 and code = 'name'",
    [id],
  );
  return (points, length) =>
    server.sql.query(
      `insert into layers.l${id} (geom, c${rows[0].id})
       select st_setsrid(st_makepoint(n % 170, n % 80), 4326), lpad(n::text, $2, 'x') from generate_series(1, $1::int) n`,
      [points, length],
    );
}

/** The tile: its layers, and what it says that it lacks. */
async function ask(z = 0) {
  const { status, headers, layers } = await fetchVectors(vectorUrl(server, "m", { lon: 1, lat: 1, z }));
  const said = ["x-tile-incomplete", "cache-control", "etag"].map((name) => headers.get(name));
  return { status, layers: [...layers.keys()].sort(), said };
}

// The statement of the first is another one than that of the last.
const addLarge = await makeTexts("large");
for (let n = 0; n < 16; n++) await makeStyledLayer(server, "m", `empty${n}`, style);
const addMiddling = await makeTexts("middling");
const addMany = await makeTexts("many", 40);
await addLarge(9_000, 1_000);
await addMiddling(8_000, 1_000);

t.test("of layers that are too large together the largest is left out", async (t) => {
  const lacking = { status: 200, layers: ["middling"], said: ["large", "no-store", null] };
  for (let round = 0; round < 2; round++) t.same(await ask(), lacking);
  t.match(
    await ask(6),
    { layers: ["large", "middling"], said: [null, /^public/, /./] },
    "elsewhere it is drawn",
  );
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, 'mapwright_tile_layers_left_out_total{cause="size"} 2');
});

t.test("what this process pauses for does not count as time that a tile took", async (t) => {
  const { catalog, vectorPlanner, db } = server.nodes[0]!.services;
  const map = await catalog.map("p", "m");
  const common = { coord: { z: 6, x: 32, y: 31 }, format: mvt, quality: 0 } as const;
  const address = { ...common, layers: undefined, language: undefined };
  const plan = await vectorPlanner.plan(map, publicCaller, address);
  t.ok((await plan.statements(false)).length > 1);
  const deadlineMs = 1_500;
  const tiles = new VectorTiles({
    ...{ clock: systemClock, bad: new BadLayers(systemClock), concurrency: 1, queueLength: 1, deadlineMs },
    db: {
      query: async (...asked) => {
        const rows = await db.query<never>(...asked);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, deadlineMs + 100);
        return rows;
      },
    },
  });
  const { signal } = new AbortController();
  const { coord: origin, format, quality } = common;
  const work = { plan, origin, count: 1, format, quality, versions: [], signal, client: "", metaKey: "" };
  const { bytes, missing } = await tiles.make(work);
  t.ok(bytes.length > 100);
  t.equal(missing, undefined);
});

t.test("a tile that waits for long while it holds its turn ends, and no layer is to blame", async (t) => {
  const { catalog, vectorPlanner, db } = server.nodes[0]!.services;
  const map = await catalog.map("p", "m");
  const common = { coord: { z: 6, x: 32, y: 31 }, format: mvt, quality: 0 } as const;
  const plan = await vectorPlanner.plan(map, publicCaller, {
    ...common,
    layers: undefined,
    language: undefined,
  });
  const clock = { ms: 0, now: () => clock.ms };
  const bad = new BadLayers(clock);
  let asked = 0;
  const tiles = new VectorTiles({
    ...{ clock, bad, concurrency: 1, queueLength: 1, deadlineMs: 1_000 },
    db: {
      query: async (...given) => {
        asked++;
        clock.ms += 60_000;
        return db.query<never>(...given);
      },
    },
  });
  const { signal } = new AbortController();
  const { coord: origin, format, quality } = common;
  const work = { plan, origin, count: 1, format, quality, versions: [], signal, client: "", metaKey: "" };
  await t.rejects(tiles.make(work), { code: "busy" });
  t.equal(asked, 1);
  t.same(bad.tried(plan, origin.z), []);
});

t.test("and one that is too large alone, or has too many objects", async (t) => {
  await addLarge(9_000, 1_000);
  await addMany(50_000, 1);
  const { status, layers, said } = await ask();
  t.same([status, layers, said[1], said[2]], [200, ["middling"], "no-store", null]);
  t.same(said[0]?.split(", ").sort(), ["large", "many"]);
});
