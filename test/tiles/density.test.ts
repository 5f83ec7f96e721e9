import sharp from "sharp";
import t from "tap";
import { metatileSide } from "../../src/tiles/metatile.js";
import type { Plan } from "../../src/tiles/plan.js";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Of dense layers fewer tiles are drawn at once, and look the same. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;
await makeMap(server, "m");
const style = "#l { marker-width: 7; marker-fill: #c33; marker-allow-overlap: true; }";
const { id } = await makeStyledLayer(server, "m", "l", style);
await server.sql.query("update layer set geometry_kind = 'Point' where id = $1", [id]);
await server.sql.query("select setseed(0.5)");
const add = (count: number) =>
  server.sql.query(
    `insert into layers.l${id} (geom)
     select st_setsrid(st_makepoint(7 + random() * 0.4, 50 + random() * 0.2), 4326) from generate_series(1, $1)`,
    [count],
  );
const density = async (): Promise<number[] | null> =>
  (await server.sql.query("select crowds from layer where id = $1", [id])).rows[0].crowds;
const look = async () => {
  await server.sql.query(`analyze layers.l${id}`);
  node.services.thinnings.kick();
  await node.services.thinnings.idle();
  await node.services.changes.propagate();
};
const tile = async (z: number): Promise<Buffer> => {
  const answer = await fetch(tileUrl(server, "m", { lon: 7.2, lat: 50.1, z }, "&base=0"));
  return Buffer.from(await answer.arrayBuffer());
};

const pixels = (png: Buffer) => sharp(png).ensureAlpha().raw().toBuffer();

t.test("a layer of few objects is not looked at", async (t) => {
  await add(5000);
  await look();
  t.equal(await density(), null);
});

t.test("how dense a layer is, is found when it has grown, and again when it has shrunk", async (t) => {
  await add(20_000);
  await look();
  const found = (await density())!;
  t.equal(found.length, 15);
  t.ok(found.slice(0, 8).every((objects) => objects === 24_999));
  t.ok(found[14]! < 3000 && found[14]! > 10);
  t.ok(found.every((objects, zoom) => zoom === 0 || objects <= found[zoom - 1]!));
  await server.sql.query(`delete from layers.l${id} where svc_id % 4 > 0`);
  await look();
  t.equal(await density(), null);
});

t.test("tiles that are drawn alone are those that are drawn together", async (t) => {
  await add(20_000);
  await look();
  const draw = async () => {
    const before = node.services.tiles.rendered;
    const tiles = await Promise.all([5, 8, 10].map(tile));
    return { tiles, rendered: node.services.tiles.rendered - before };
  };
  await add(70_000);
  await look();
  t.ok((await density())![8]! > 80_000);
  const { tiles: alone } = await draw();
  await server.sql.query("update layer set crowds = null where id = $1", [id]);
  // With a rule that draws nothing here, so that no tile is in a cache.
  await server.sql.query("update node set css_style = $2 where id = $1", [
    id,
    style.replace("}", "[zoom > 20] { marker-fill: #000; } }"),
  ]);
  await node.services.changes.propagate();
  const { tiles: together, rendered } = await draw();
  t.equal(rendered, 3, "nothing was in a cache");
  for (const [place, data] of alone.entries()) {
    const [one, other] = await Promise.all([data, together[place]!].map(pixels));
    const sum = one!.reduce((sum, value, at) => sum + Math.abs(value - other![at]!), 0);
    // Positions are rounded from another corner, which moves the edges of few markers by an eighth of a pixel.
    t.ok(sum / one!.length < 0.1, `${(sum / one!.length).toFixed(3)} of 255`);
  }
});

t.test("the number of tiles that are drawn at once", (t) => {
  const side = (density: number[], zoom: number, rest: Partial<Plan> = {}) =>
    metatileSide({ scale: 1, isDrawnAlike: true, density, ...rest } as Plan, zoom);
  t.equal(side([], 5), 4);
  t.equal(side([100_000, 30_000, 10_000], 0), 1);
  t.equal(side([100_000, 30_000, 10_000], 1), 2);
  t.equal(side([100_000, 30_000, 10_000], 2), 4);
  t.equal(side([100_000, 100_000], 2), 2, "further zooms have a quarter each");
  t.equal(side([100_000, 100_000], 3), 4);
  t.equal(side([100_000], 0, { isDrawnAlike: false }), 4, "labels bind tiles together");
  t.equal(side([30_000], 0, { scale: 3 }), 2);
  t.end();
});
