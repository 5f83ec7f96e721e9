import sharp from "sharp";
import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Generalised geometry shows what all objects show, however small they are. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;

const styles = {
  buildings: "#l { polygon-fill: #2a6fbb; polygon-opacity: 0.35; line-color: #1f5690; line-width: 1; }",
  blocks: "#l { polygon-fill: #2a6fbb; polygon-opacity: 0.35; line-color: #1f5690; line-width: 1; }",
  paths: "#l { line-color: #2a6fbb; line-width: 1.5; }",
  streams: "#l { line-color: #2a6fbb; line-width: 1; }",
  roads: "#l { line-color: #2a6fbb; line-width: 2; line-cap: round; }",
};
const shapes = {
  buildings: "st_makeenvelope(x, y, x + 0.0002, y + 0.0002)",
  blocks: "st_makeenvelope(x, y, x + 0.002, y + 0.001)",
  paths:
    "st_makeline(st_makepoint(x, y), st_makepoint(x + 0.0003 * (random() - 0.5), y + 0.0003 * (random() - 0.5)))",
  streams:
    "st_makeline(array[st_makepoint(x, y), st_makepoint(x + 0.001, y + 0.002), st_makepoint(x + 0.004, y + 0.003)])",
  roads: "st_makeline(st_makepoint(x, y), st_makepoint(x + 0.003, y))",
};
/** How far around its middle most of it lies, in degrees. */
const reach = { buildings: 0.02, blocks: 2, paths: 0.02, streams: 2, roads: 2 };
const zooms = [0, 3, 4, 6, 7, 9, 10];

/** A town, or a country, of 40,000 small objects around 7.03, 50.1. */
async function town(map: string, name: keyof typeof styles): Promise<number> {
  await makeMap(server, map);
  const { id } = await makeStyledLayer(server, map, "l", styles[name]);
  await server.sql.query("select setseed(0.5)");
  await server.sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(${shapes[name]}, 4326) from (
       select 7.03 + ${reach[name]} * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) as x,
         50.1 + ${reach[name]} * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) as y
       from generate_series(1, 40000) offset 0) place`,
  );
  await server.sql.query("select generalize_layer($1)", [id]);
  await node.services.changes.propagate();
  return id;
}

const tiles = (map: string) =>
  Promise.all(
    zooms.map(async (z) => {
      const answer = await fetch(tileUrl(server, map, { lon: 7.03, lat: 50.1, z }, "&base=0"));
      const pixels = await sharp(Buffer.from(await answer.arrayBuffer()))
        .ensureAlpha()
        .raw()
        .toBuffer();
      // As seen: the colour of what is nearly transparent does not count.
      return pixels.map((value, at) => (at % 4 === 3 ? value : (value * pixels[at | 3]!) / 255));
    }),
  );

for (const name of ["buildings", "blocks", "paths", "streams", "roads"] as const) {
  t.test(`${name} that are too small for a pixel`, async (t) => {
    const id = await town(name, name);
    const layer = (await server.sql.query("select bands, gathered from layer where id = $1", [id])).rows[0];
    t.ok(layer.gathered.length > 1);
    // Also one that is not much lighter.
    await server.sql.query("update layer set gathered = bands[:3] where id = $1", [id]);
    await node.services.changes.propagate();
    const generalised = await tiles(name);
    await server.sql.query("update layer set bands = '{}', gathered = null where id = $1", [id]);
    await node.services.changes.propagate();
    const whole = await tiles(name);
    for (const [place, pixels] of generalised.entries()) {
      const full = whole[place]!;
      let sum = 0;
      for (let at = 0; at < full.length; at++) sum += Math.abs(full[at]! - pixels[at]!);
      const painted = (some: Uint8Array) => some.some((value, at) => at % 4 === 3 && value > 0);
      t.ok(sum / full.length <= 3, `zoom ${zooms[place]}: ${(sum / full.length).toFixed(2)} of 255`);
      t.equal(painted(pixels), painted(full), `zoom ${zooms[place]}: empty or not`);
    }
  });
}

t.test("without strokes the area stays", async (t) => {
  const id = await town("filled", "buildings");
  await server.sql.query("update node set css_style = '#l { polygon-fill: #000; }' where id = $1", [id]);
  await node.services.changes.propagate();
  const metres = 2 * 20037508.342789244;
  const { rows } = await server.sql.query(`select sum(st_area(geom_3857)) as area from layers.l${id}`);
  for (const [place, pixels] of (await tiles("filled")).entries()) {
    const z = zooms[place]!;
    if (z < 4 || z > 8) continue;
    const pixel = metres / 256 / 2 ** z;
    let alpha = 0;
    for (let at = 3; at < pixels.length; at += 4) alpha += pixels[at]! / 255;
    const share = (alpha * pixel * pixel) / rows[0].area;
    t.ok(share > 0.9 && share < 1.1, `zoom ${z}: ${share.toFixed(3)} of the area`);
  }
});

t.test("ten thousand lines in one pixel are drawn", async (t) => {
  await makeMap(server, "crowd");
  const { id } = await makeStyledLayer(server, "crowd", "l", styles.streams);
  await server.sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(st_makeline(st_makepoint(7.03, 50.1), st_makepoint(7.03 + n / 1e7, 50.1)), 4326)
     from generate_series(1, 20000) n`,
  );
  await server.sql.query("select generalize_layer($1)", [id]);
  await server.sql.query("update layer set gathered = bands where id = $1", [id]);
  await node.services.changes.propagate();
  for (const pixels of await tiles("crowd")) t.ok(pixels.some((value, at) => at % 4 === 3 && value > 0));
});
