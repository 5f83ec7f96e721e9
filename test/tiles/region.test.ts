import t from "tap";
import { toMercator } from "../../src/geo/envelope.js";
import { type Region, regionOfBoxes, regionOfPolygons } from "../../src/geo/region.js";
import { mercatorHalf, tileBox } from "../../src/geo/tile.js";
import { countTiles, tileSquares } from "../../src/geo/tile-area.js";

/** Tiles of polygons and of lists of boxes. */

const world = { west: -180, south: -90, east: 180, north: 90 };
const tilesOf = (region: Region, z: number, marginPixels = 0): string[] =>
  [...tileSquares({ box: world, marginPixels, region }, z)]
    .flat()
    .map(({ x, y }) => `${x}/${y}`)
    .sort();
const ring = (...degrees: (readonly [number, number])[]) => degrees.map(([lon, lat]) => toMercator(lon, lat));

t.test("a box as a polygon has the tiles of the box", async (t) => {
  const polygon = regionOfPolygons([[ring([5, 5], [40, 5], [40, 50], [5, 50], [5, 5])]]);
  const box = { west: 5, south: 5, east: 40, north: 50 };
  for (const z of [0, 1, 3, 6]) {
    const wanted = [...tileSquares({ box, marginPixels: 0 }, z)].flat().map(({ x, y }) => `${x}/${y}`);
    t.same(tilesOf(polygon, z), wanted.sort(), `${z}`);
  }
});

t.test("tiles in a hole, and beside a slanted edge, are not among them", async (t) => {
  const outer = ring([-90, -60], [90, -60], [0, 80]);
  const hole = ring([-20, -40], [20, -40], [20, 0], [-20, 0]);
  const region = regionOfPolygons([[outer, hole]]);
  // By brute force: points of a fine grid in each tile.
  const inside = (x: number, y: number, points: number[][]): boolean => {
    let odd = false;
    for (const [index, [x1, y1]] of points.entries()) {
      const [x0, y0] = points[(index || points.length) - 1]!;
      if (y0! > y !== y1! > y && x < x0! + ((y - y0!) / (y1! - y0!)) * (x1! - x0!)) odd = !odd;
    }
    return odd;
  };
  for (const z of [3, 4, 5]) {
    const found = new Set(tilesOf(region, z));
    const side = 2 ** z;
    for (let x = 0; x < side; x++) {
      for (let y = 0; y < side; y++) {
        const [xmin, ymin, xmax, ymax] = tileBox({ z, x, y });
        const grid = Array.from({ length: 41 }, (_, at) => (at + 0.5) / 41);
        const shown = grid.some((u) =>
          grid.some((v) => {
            const [px, py] = [xmin + u * (xmax - xmin), ymin + v * (ymax - ymin)];
            return inside(px, py, outer) && !inside(px, py, hole);
          }),
        );
        // A tile of which less than a grid cell is inside may be among them.
        if (shown) t.ok(found.has(`${x}/${y}`), `${z}/${x}/${y}`);
      }
    }
    t.ok(found.size < 0.35 * side * side, `${found.size} of ${side * side}`);
  }
  t.notOk(new Set(tilesOf(region, 6)).has("32/36"), "in the hole");
});

t.test("what lies beyond 180 degrees is on the other side of the world", async (t) => {
  const region = regionOfPolygons([[ring([170, -10], [190, -10], [190, 10], [170, 10])]]);
  t.same(tilesOf(region, 3), ["0/3", "0/4", "7/3", "7/4"]);
  const boxes = regionOfBoxes([[mercatorHalf - 1, 1, mercatorHalf + 1, 2]]);
  t.same(tilesOf(boxes, 3), ["0/3", "7/3"]);
});

t.test("what lies within the margin beyond 180 degrees is too", async (t) => {
  const degree = 360 / 2 ** 3 / 256;
  const west = regionOfPolygons([[ring([179, 1], [180 - degree, 1], [180 - degree, 2], [179, 2])]]);
  t.same(tilesOf(west, 3), ["7/3"]);
  t.same(tilesOf(west, 3, 4), ["0/3", "7/3"]);
  const east = regionOfPolygons([[ring([-179, 1], [degree - 180, 1], [degree - 180, 2], [-179, 2])]]);
  t.same(tilesOf(east, 3, 4), ["0/3", "7/3"]);
  const box = regionOfBoxes([[mercatorHalf - 10, 1_000_000, mercatorHalf - 9, 1_000_001]]);
  t.same(tilesOf(box, 3, 4), ["0/3", "7/3"]);
});

t.test("a margin is of pixels at each zoom", async (t) => {
  const spot = regionOfBoxes([[10, 10, 11, 11]]);
  t.same(tilesOf(spot, 5), ["16/15"]);
  t.same(tilesOf(spot, 5, 4), ["15/15", "15/16", "16/15", "16/16"]);
  t.equal(countTiles({ box: world, marginPixels: 4, region: spot }, 5, 10), 24);
});

t.test(
  "a polygon of many vertices is covered at a high zoom without looking at all of them for each tile",
  async (t) => {
    const circle = Array.from({ length: 100_000 }, (_, index) => {
      const angle = (index / 100_000) * 2 * Math.PI;
      return toMercator(10 + 2 * Math.cos(angle), 50 + 1.3 * Math.sin(angle));
    });
    const count = countTiles({ box: world, marginPixels: 0, region: regionOfPolygons([[circle]]) }, 11, 11);
    t.ok(count > 390 && count < 520, `${count}`);
  },
);
