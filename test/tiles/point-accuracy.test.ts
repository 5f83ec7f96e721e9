import sharp from "sharp";
import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Tiles of a large layer of points show what all of its points show. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;
await makeMap(server, "m");
const { id } = await makeStyledLayer(server, "m", "l", "#l { marker-width: 7; }");
await server.sql.query("update layer set geometry_kind = 'Point' where id = $1", [id]);
await server.sql.query("select setseed(0.5)");
// A town, and single points around it.
await server.sql.query(
  `insert into layers.l${id} (geom) select st_setsrid(st_makepoint(7 + r * cos(a), 50 + r * sin(a)), 4326) from (
     select case when n % 20 = 0 then 2 * random() else 0.1 * sqrt(-2 * ln(1 - random())) end as r, 2 * pi() * random() as a
     from generate_series(1, 30000) n) place`,
);
await server.sql.query(`analyze layers.l${id}`);
await server.sql.query("select generalize_layer($1), note_crowds($1)", [id]);

const zooms = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10];
async function tiles(css: string): Promise<Buffer[]> {
  await server.sql.query("update node set css_style = $2 where id = $1", [id, css]);
  await node.services.changes.propagate();
  return Promise.all(
    zooms.map(async (z) => {
      const answer = await fetch(tileUrl(server, "m", { lon: 7.02, lat: 50.02, z }, "&base=0"));
      t.equal(answer.status, 200);
      return sharp(Buffer.from(await answer.arrayBuffer()))
        .ensureAlpha()
        .raw()
        .toBuffer();
    }),
  );
}

// What is translucent is drawn whole.
const all = "dot-opacity: 0.9999;";
const looks = {
  "a stroke": [
    "marker-width: 7; marker-fill: #2a6fbb; marker-line-color: #fff; marker-line-width: 1; marker-allow-overlap: true;",
    `dot-width: 8; dot-fill: #fff; ${all} b/dot-width: 6; b/dot-fill: #2a6fbb; b/${all}`,
  ],
  "no stroke": [
    "marker-width: 6; marker-fill: #2a6fbb; marker-line-width: 0; marker-allow-overlap: true;",
    `dot-width: 6; dot-fill: #2a6fbb; ${all}`,
  ],
  "a small size": ["dot-width: 2; dot-fill: #000;", `dot-width: 2; dot-fill: #000; ${all}`],
};
for (const [name, [thinned, whole]] of Object.entries(looks))
  t.test(`markers of ${name}`, async (t) => {
    const some = await tiles(`#l { ${thinned} }`);
    const full = await tiles(`#l { ${whole} }`);
    for (const [place, pixels] of some.entries()) {
      const wanted = full[place]!;
      let sum = 0;
      for (let at = 0; at < wanted.length; at++) sum += Math.abs(wanted[at]! - pixels[at]!);
      const painted = (one: Buffer) => one.some((value, at) => at % 4 === 3 && value > 0);
      t.ok(sum / wanted.length <= 3, `zoom ${zooms[place]}: ${(sum / wanted.length).toFixed(2)} of 255`);
      t.equal(painted(pixels), painted(wanted), `zoom ${zooms[place]}: empty or not`);
    }
    t.notOk(
      some.every((pixels, place) => pixels.equals(full[place]!)),
      "drawn from other points",
    );
  });
