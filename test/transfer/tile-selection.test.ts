import t from "tap";
import { placeOf, selectTiles } from "../../src/export/tile-selection.js";
import { countTiles } from "../../src/geo/tile-area.js";

/** Which tiles an export has. */

const box = { west: 13.3, south: 52.4, east: 13.5, north: 52.6 };
const extent = { sw: [52.4, 13.3], ne: [52.6, 13.5] } as const;

t.test("without zooms, an export goes from zoom 0 as far as it stays small", async (t) => {
  const small = selectTiles({ box }, null, 250_000);
  t.same([small.minZoom, small.maxZoom], [0, 16]);
  t.ok(small.tiles <= 10_000 && countTiles(small.area, 0, 17) > 10_000);
  t.equal(selectTiles({ box: { ...box, east: 13.3, north: 52.4 } }, null, 250_000).maxZoom, 18);
  const world = { west: -180, south: -90, east: 180, north: 90 };
  t.equal(selectTiles({ box: world }, null, 250_000).maxZoom, 6);
  t.equal(selectTiles({ box: world }, null, 100).maxZoom, 3, "the limit bounds it, too");
  t.equal(selectTiles({ box: world, minZoom: 8 }, null, 250_000).maxZoom, 8);
  t.same(selectTiles({ box: world, maxZoom: 2 }, null, 250_000).tiles, 21);
});

t.test("without a box, it is what is drawn, with what symbols may reach", async (t) => {
  const { area } = selectTiles({}, extent, 250_000);
  t.match(area, { box, marginPixels: 32 });
  t.match(selectTiles({}, null, 250_000).area.box, { west: -180, east: 180 }, "nothing is drawn anywhere");
});

t.test("too many tiles are refused with their number and what is possible", async (t) => {
  const world = { west: -180, south: -90, east: 180, north: 90 };
  t.throws(() => selectTiles({ box: world, maxZoom: 10 }, null, 100_000), {
    code: "invalid_value",
    message:
      "The export would have 1398101 tiles, and may have 100000. Choose a smaller box, or zooms up to 8.",
    data: { tiles: 1_398_101, limit: 100_000, maxzoom: 8 },
  });
  t.throws(() => selectTiles({ box: world, minZoom: 10, maxZoom: 10 }, null, 100_000), {
    message: /Choose a smaller box, or lower zooms\.$/,
  });
  t.throws(() => selectTiles({ box, minZoom: 3, maxZoom: 2 }, null, 100), { message: /minzoom/ });
});

t.test("bounds are within the world, and a viewer begins in their middle", async (t) => {
  const place = (west: number, south: number, east: number, north: number, maxZoom = 5) =>
    placeOf(selectTiles({ box: { west, south, east, north }, maxZoom }, null, 1e6));
  t.same(place(-180, -90, 180, 90), {
    bounds: [-180, -85.0511288, 180, 85.0511288],
    center: [0, 0, 1],
  });
  t.same(place(170, -10, -170, 10), { bounds: [-180, -10, 180, 10], center: [180, 0, 5] });
  t.same(place(10, 20, 10, 20), { bounds: [10, 20, 10, 20], center: [10, 20, 5] });
  t.same(place(190, 0, 200, 10, 2).bounds, [-170, 0, -160, 10]);
});
