import sharp from "sharp";
import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Round markers, which are drawn as dots, look as Mapnik's own markers. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;
await makeMap(server, "m");
const { id } = await makeStyledLayer(server, "m", "l", "#l { marker-width: 7; }");
await server.sql.query("update layer set geometry_kind = 'Point' where id = $1", [id]);
await server.sql.query("select setseed(0.5)");
await server.sql.query(
  `insert into layers.l${id} (geom)
   select st_setsrid(st_makepoint(7 + random() * 0.4, 50 + random() * 0.2), 4326) from generate_series(1, 600)
   union all select st_setsrid('multipoint(7.1 50.15, 7.12 50.16)'::geometry, 4326)`,
);

async function pixels(css: string, query: string): Promise<Buffer> {
  await server.sql.query("update node set css_style = $2 where id = $1", [id, css]);
  await node.services.changes.propagate();
  const answer = await fetch(tileUrl(server, "m", { lon: 7.2, lat: 50.1, z: 10 }, `&base=0${query}`));
  t.equal(answer.status, 200);
  return sharp(Buffer.from(await answer.arrayBuffer()))
    .ensureAlpha()
    .raw()
    .toBuffer();
}

/** Mean absolute difference of a channel, of 255. */
function difference(one: Buffer, other: Buffer): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += Math.abs(one[at]! - other[at]!);
  return sum / one.length;
}

const overlap = "marker-allow-overlap: true;";
const looks = {
  stroked: "marker-width: 7; marker-fill: #2a6fbb; marker-line-color: #ffffff; marker-line-width: 1;",
  "with a wide stroke": "marker-width: 12; marker-fill: #c33; marker-line-color: #333; marker-line-width: 4;",
  plain: "marker-width: 6; marker-height: 6; marker-fill: #393; marker-line-width: 0;",
};
for (const [name, look] of Object.entries(looks))
  for (const [retina, query] of ["", "&retina=2"].entries())
    t.test(`a marker that is ${name}, at scale ${retina + 1}`, async (t) => {
      const asDot = await pixels(`#l { ${look} ${overlap} }`, query);
      // Of no meaning for points, but markers that have it are drawn as markers.
      const asMarker = await pixels(`#l { ${look} ${overlap} marker-spacing: 100; }`, query);
      t.ok(asMarker.some((value, at) => at % 4 === 3 && value > 0));
      t.notOk(asDot.equals(asMarker), "drawn in two ways");
      t.ok(difference(asDot, asMarker) < 2, difference(asDot, asMarker).toFixed(3));
    });

for (const [what, more] of [
  ["keep clear of them", ""],
  ["may lie over them", "marker-ignore-placement: true;"],
] as const)
  t.test(`labels that ${what} lie where they do beside markers`, async (t) => {
    const text = "text-name: [svc_id]; text-face-name: 'DejaVu Sans Book'; text-fill: #ff00ff; text-dy: 8;";
    const marker = "marker-width: 7; marker-fill: #888; marker-line-color: #fff; marker-line-width: 1;";
    const asDot = await pixels(`#l { ${marker} ${overlap} ${more} ${text} }`, "");
    const asMarker = await pixels(`#l { ${marker} ${overlap} ${more} marker-spacing: 100; ${text} }`, "");
    t.notOk(asDot.equals(asMarker), "drawn in two ways");
    const [letters, expected] = [lettersOf(asDot), lettersOf(asMarker)];
    t.ok(expected.size > 100);
    // Edges of letters over a dot.
    const others =
      [...letters].filter((at) => !expected.has(at)).length +
      [...expected].filter((at) => !letters.has(at)).length;
    t.ok(others < expected.size / 50, `${others} of ${expected.size}`);
  });

/** Pixels of magenta letters. */
const lettersOf = (image: Buffer): Set<number> =>
  new Set(
    Array.from({ length: image.length / 4 }, (_, at) => at).filter(
      (at) => image[4 * at]! - image[4 * at + 1]! > 150,
    ),
  );

t.test("translucent dots are all drawn", async (t) => {
  await server.sql.query(`insert into layers.l${id} (geom)
    select st_setsrid('point(7.2 50.1)'::geometry, 4326) from generate_series(1, 20)`);
  const count = async (css: string) => {
    const image = await pixels(css, "");
    return Math.max(...image.filter((_, at) => at % 4 === 3));
  };
  t.ok((await count("#l { dot-width: 8; dot-fill: #000; dot-opacity: 0.05; }")) > 120);
});
