import t from "tap";
import { LoopDelay } from "../../src/loop-delay.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** What waits behind a metatile that takes too long is refused with it, and tells nothing of the layers there. */

const server = await startServer({ config: { "render.concurrency": 1, "tiles.deadlineMs": 4_000 } });
t.teardown(() => server.stop());
const { render } = server.nodes[0]!.services;

const [slow, quick, empty] = [
  { lon: 30, lat: 10, z: 8 },
  { lon: 101, lat: 10.5, z: 8 },
  { lon: -100, lat: 10, z: 8 },
];
const endless = Array.from(
  { length: 60 },
  (_, n) =>
    `#a::n${n} { marker-placement: line; marker-spacing: 1; marker-width: 250; marker-fill: #0000ff; ` +
    "marker-allow-overlap: true; marker-ignore-placement: true; marker-opacity: 0.5; }",
).join("");

/** A map of which one layer is drawn without end around `slow`, and one quickly around `quick`. */
async function makeSlowMap(map: string): Promise<void> {
  await makeMap(server, map);
  await makeStyledLayer(server, map, "good", "#a { polygon-fill: #ff0000; }");
  await addObject(server, "good", square(100, 10, 2), { map });
  const { id } = await makeStyledLayer(server, map, "bad", endless);
  await addObject(server, "bad", square(25, 5, 1), { map });
  await server.sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(st_makeline(st_makepoint(25, 5 + n / 60.0), st_makepoint(43, 5 + n / 59.0)), 4326)
     from generate_series(1, 600) n`,
  );
  // What an SQL client has written is known by now.
  await server.nodes[0]!.services.changes.propagate();
}

interface Asked {
  readonly status: number;
  readonly lacks: string | null;
}

async function ask(map: string, place: typeof slow): Promise<Asked> {
  const { status, headers } = await fetch(tileUrl(server, map, place, "&base=0"));
  return { status, lacks: headers.get("x-tile-incomplete") };
}

/** Asks for the place over and over, behind metatiles that take too long. @returns what came of one of these, and of the place */
async function askBehind(map: string, place: typeof slow): Promise<[Asked, readonly Asked[]]> {
  let isOver = false;
  const [first, ...others] = [0, 6, 11].map((more) => ask(map, { ...slow, lon: slow.lon + more }));
  const over = first!.finally(() => {
    isOver = true;
  });
  await waitFor(() => render.counts().running >= 3);
  const behind: Asked[] = [];
  while (!isOver) behind.push(await ask(map, place));
  await Promise.all(others);
  return [await over, behind];
}

t.test("a place where nothing is to be drawn holds up nobody", async (t) => {
  await makeSlowMap("a");
  const loop = new LoopDelay();
  const [first, behind] = await askBehind("a", empty);
  t.same(first, { status: 200, lacks: "bad" });
  t.same(
    behind.filter(({ status, lacks }) => status !== 503 && lacks !== null && lacks !== "bad"),
    [],
  );
  t.ok(loop.held < 5, `the event loop was held for ${loop.held} s`);
  t.same(await ask("a", empty), { status: 200, lacks: "bad" });
});

t.test("a layer that is drawn quickly there is not to blame", async (t) => {
  await makeSlowMap("b");
  const [first, behind] = await askBehind("b", quick);
  t.same(first, { status: 200, lacks: "bad" });
  t.same(
    behind.filter(({ status, lacks }) => status !== 503 && lacks !== null && lacks !== "bad"),
    [],
  );
  t.same(await ask("b", quick), { status: 200, lacks: "bad" });
});
