import t from "tap";
import { ensureBaseMap } from "../../src/demo/base-map.js";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** After an edit that few tiles of a metatile show, these are drawn alone. */

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
await ensureBaseMap(
  { db: services.db, transfer: services.transfer, log: quietLog, config: services.config },
  () => undefined,
  ["land", "borders", "places"],
);
await services.changes.propagate();
const { db } = services;

/** What the render host is asked for. */
const drawn: string[] = [];
const { render } = services;
const call = render.call.bind(render);
render.call = ((kind: string, request: MetatileRequest, options: never) => {
  if (kind === "metatile")
    drawn.push(`${request.origin.z}/${request.origin.x}/${request.origin.y} ${request.count}`);
  return call(kind as never, request as never, options);
}) as never;

const [z, x0, y0] = [6, 32, 28];
async function tile(map: string, place: number, query: string): Promise<Buffer> {
  const [x, y] = [x0 + (place % 4), y0 + Math.floor(place / 4)];
  const answer = await fetch(`${server.url}/tms/p/${map}/${z}/${x}/${y}.png?${query}`);
  t.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}
/** All sixteen, one after the other. */
async function metatile(map: string, query: string): Promise<Buffer[]> {
  const tiles: Buffer[] = [];
  for (let place = 0; place < 16; place++) tiles.push(await tile(map, place, query));
  return tiles;
}
/** What was drawn since the last call. */
const drawings = () => drawn.splice(0);
const forget = async () => {
  const keys = await services.redis.keys(`${services.config.redisPrefix}t:*`);
  await services.redis.del(keys);
  await db.execute("select pg_notify('mapwright', 'C')");
  await services.changes.propagate();
};

const styles = {
  shapes: "#a { polygon-fill: #ff8800; line-width: 3; line-color: #004488; line-dasharray: 6,4; }",
  points:
    "#a { marker-width: 9; marker-fill: #080; marker-allow-overlap: true; marker-placement: vertex-first; }",
};
for (const [code, style] of Object.entries(styles)) {
  for (const query of ["base=0", "base=1", "base=1&retina=2"]) {
    t.test(
      `one changed tile is drawn alone, with the pixels that it has in its metatile: ${code}, ${query}`,
      async (t) => {
        const map = `${code}${query.replace(/\W/g, "")}`;
        await makeMap(server, map);
        await makeStyledLayer(server, map, "a", style);
        await addObject(server, "a", square(-10, -20, 60), { map });
        await metatile(map, query);
        t.same(drawings(), [`${z}/${x0}/${y0} 4`]);
        // In the tile at 2, 1.
        await addObject(server, "a", square(12.5, 13, 1.5), { map });
        const after = await metatile(map, query);
        t.same(drawings(), [`${z}/${x0 + 2}/${y0 + 1} 1`]);
        await forget();
        const anew = await metatile(map, query);
        t.same(drawings(), [`${z}/${x0}/${y0} 4`]);
        t.same(
          after.map((bytes, place) => bytes.equals(anew[place]!)),
          after.map(() => true),
        );
      },
    );
  }
}

t.test("a metatile of which much has changed is drawn whole", async (t) => {
  await makeMap(server, "much");
  await makeStyledLayer(server, "much", "a", styles.shapes);
  await addObject(server, "a", square(1, 1, 2), { map: "much" });
  await metatile("much", "base=0");
  drawings();
  for (const [lon, lat] of [
    [1, 1],
    [7, 7],
    [13, 13],
  ] as const)
    await addObject(server, "a", square(lon, lat, 1), { map: "much" });
  await metatile("much", "base=0");
  t.same(drawings(), [`${z}/${x0}/${y0} 4`]);
});

t.test("where symbols avoid each other, or a pattern goes on, the whole metatile is drawn", async (t) => {
  for (const [map, style] of [
    ["labels", "#a { marker-width: 8; marker-fill: #00f; marker-placement: vertex-first; }"],
    ["patterns", "#a { polygon-pattern-file: url(icon:star); }"],
  ] as const) {
    await makeMap(server, map);
    await makeStyledLayer(server, map, "a", style);
    await addObject(server, "a", square(2, 2, 1), { map });
    await metatile(map, "base=0");
    drawings();
    await addObject(server, "a", square(13, 13, 1), { map });
    await tile(map, 6, "base=0");
    t.same(drawings(), [`${z}/${x0}/${y0} 4`], map);
  }
});

t.test("two that ask for a changed tile at once have it drawn once", async (t) => {
  await makeMap(server, "twice");
  await makeStyledLayer(server, "twice", "a", styles.shapes);
  await addObject(server, "a", square(1, 1, 2), { map: "twice" });
  await metatile("twice", "base=0");
  drawings();
  await addObject(server, "a", square(13, 13, 1), { map: "twice" });
  const [one, other] = await Promise.all([tile("twice", 6, "base=0"), tile("twice", 6, "base=0&x")]);
  t.ok(one!.equals(other!));
  t.same(drawings(), [`${z}/${x0 + 2}/${y0 + 1} 1`]);
});
