import sharp from "sharp";
import t from "tap";
import { cutSql } from "../../src/tiles/drawn-along.js";
import { addObject, makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What is repeated along lines and outlines, of shapes that are a thousand times larger than what is seen of them. */

const server = await startServer();
t.teardown(() => server.stop());

/** North of the equator by some pixels of the last zoom, so that it lies in one row of tiles. */
const lat = 0.00001;
const across = {
  type: "LineString",
  coordinates: [
    [-60, lat],
    [10, lat],
    [70, lat],
  ],
};
const beyond = {
  type: "Polygon",
  coordinates: [
    [
      [-60, lat],
      [70, lat],
      [40, -50],
      [-30, -50],
      [-60, lat],
    ],
  ],
};

let maps = 0;
async function makeLayer(css: string, shape: unknown): Promise<{ map: string; id: number }> {
  const map = `m${++maps}`;
  await makeMap(server, map);
  const layer = await makeStyledLayer(server, map, "l", css);
  await addObject(server, "l", shape, { map });
  return { map, ...layer };
}

/** Darkness of a row of pixels, over so many tiles from this place to the east. */
async function row(map: string, lon: number, z: number, count: number): Promise<number[]> {
  const darkness: number[] = [];
  for (let index = 0; index < count; index++) {
    const view = { lon: lon + (index * 360) / 2 ** z, lat: lat / 2, z };
    const answer = await fetch(tileUrl(server, map, view, "&base=0"));
    const incomplete = answer.headers.get("x-tile-incomplete");
    if (answer.status !== 200 || incomplete) throw new Error(`${answer.status} ${incomplete}`);
    const { data, info } = await sharp(Buffer.from(await answer.arrayBuffer()))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const sums = Array.from({ length: info.width }, (_, x) =>
      Array.from({ length: info.height }, (_, y) => data[4 * (y * info.width + x) + 3]!).reduce(
        (a, b) => a + b,
      ),
    );
    darkness.push(...sums);
  }
  return darkness;
}

const looks = {
  dashes: "#l { line-width: 3; line-dasharray: 12, 8; }",
  symbols: "#l { marker-placement: line; marker-width: 8; marker-spacing: 40; }",
  pictures: "#l { line-pattern-file: url(icon:star); }",
  labels: `#l { text-name: "'Equator'"; text-face-name: 'DejaVu Sans Book'; text-placement: line; text-spacing: 60; }`,
};

for (const [name, css] of Object.entries(looks)) {
  t.test(`${name} along a line around a third of the world are drawn at the last zoom`, async (t) => {
    const { map } = await makeLayer(css, across);
    const seen = await row(map, 20, 22, 1);
    t.ok(
      seen.some((dark) => dark > 0),
      "something is drawn",
    );
    t.ok(seen.some((dark) => dark === 0) || name === "pictures", "not everywhere");
  });
}

for (const [name, shape] of Object.entries({ "a line": across, "an outline": beyond })) {
  t.test(`dashes of ${name} fit from tile to tile`, async (t) => {
    const { map } = await makeLayer(looks.dashes, shape);
    const dark = (await row(map, 20, 20, 12)).map((sum) => sum > 300);
    const begins = dark.flatMap((is, x) => (is && x > 0 && !dark[x - 1] ? [x] : []));
    const steps = begins.slice(1).map((x, index) => x - begins[index]!);
    t.ok(begins.length > 100, `${begins.length} dashes`);
    t.ok(
      steps.every((step) => step >= 19 && step <= 21),
      steps.join(" "),
    );
  });
}

t.test("of a large shape only what is around is read, and a small one is left as it is", async (t) => {
  const { id } = await makeLayer(looks.dashes, across);
  const pixel = 0.0373;
  const read = async (shape: string) => {
    const box = "st_transform(st_makeenvelope(20, 0, 20.0001, 0.0001, 4326), 3857)";
    const { rows } = await server.sql.query(
      `select st_length(${cutSql("o$.geom", box, String(pixel))}) as read, st_length(o$.geom) as whole from (${shape}) o$`,
    );
    return { read: rows[0].read / pixel, whole: rows[0].whole / pixel };
  };
  const large = await read(`select geom_3857 as geom from layers.l${id}`);
  t.ok(large.whole > 100_000_000);
  t.ok(large.read > 20_000 && large.read < 70_000, `${large.read} pixels`);
  const small = await read(
    "select st_transform('srid=4326;linestring(20.0001 0.0001, 20.0002 0.0003)'::geometry, 3857) as geom",
  );
  t.equal(small.read, small.whole);
});
