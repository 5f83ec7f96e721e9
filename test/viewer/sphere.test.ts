import t from "tap";
import { areaOf, greatCircle, lengthOf, type Place } from "../../src/viewer/browser/tools/sphere.js";

/** Lengths and areas that are measured on the map. */

const radius = 6_371_008.8;
const quarter = (Math.PI / 2) * radius;
const sphere = 4 * Math.PI * radius ** 2;

const near = (found: number, wanted: number, what: string) =>
  t.ok(Math.abs(found - wanted) <= 1e-9 * Math.max(1, wanted), `${what}: ${found} is ${wanted}`);

t.test("lengths follow great circles, across 180 degrees too", (t) => {
  near(lengthOf([]), 0, "nothing");
  near(lengthOf([[10, 20]]), 0, "a place");
  near(
    lengthOf([
      [0, 0],
      [0, 90],
    ]),
    quarter,
    "a quarter of the equator",
  );
  near(
    lengthOf([
      [0, 10],
      [90, 50],
    ]),
    quarter,
    "to the pole",
  );
  near(
    lengthOf([
      [0, 179],
      [0, 181],
    ]),
    lengthOf([
      [0, 179],
      [0, -179],
    ]),
    "a longitude and its copy",
  );
  near(
    lengthOf([
      [0, 179],
      [0, -179],
    ]),
    (2 * Math.PI * radius) / 180,
    "two degrees",
  );
  near(
    lengthOf([
      [0, 0],
      [0, 180],
    ]),
    2 * quarter,
    "the other side",
  );
  near(
    lengthOf([
      [0, 0],
      [0, 1],
      [0, 0],
    ]),
    (2 * Math.PI * radius) / 180,
    "there and back",
  );
  t.end();
});

t.test("areas are those of the sphere, in either direction, across 180 degrees and around a pole", (t) => {
  const octant: Place[] = [
    [0, 0],
    [0, 90],
    [90, 0],
  ];
  near(areaOf(octant), sphere / 8, "an eighth");
  near(areaOf(octant.toReversed()), sphere / 8, "the other way round");
  near(
    areaOf([
      [0, 170],
      [0, -100],
      [90, 0],
    ]),
    sphere / 8,
    "across 180 degrees",
  );
  near(
    areaOf([
      [0, 170],
      [0, 260],
      [90, 0],
    ]),
    sphere / 8,
    "in a copy of the world",
  );
  const cap: Place[] = [0, 1, 2, 3].map((turn) => [45, turn * 90] as const);
  // Great circles lie outside of the parallel, towards the pole.
  const around = areaOf(cap);
  t.ok(around > 0 && around < sphere / 4, "around the pole");
  near(areaOf(cap.map(([lat, lon]) => [-lat, lon] as const)), around, "around the other pole");
  near(
    areaOf([
      [0, 0],
      [0, 1],
      [0, 2],
    ]),
    0,
    "on one line",
  );
  const field: Place[] = [
    [52, 13],
    [52, 13.001],
    [52.001, 13.001],
    [52.001, 13],
  ];
  const height = (radius * Math.PI) / 180 / 1000;
  const width = height * Math.cos((52.0005 * Math.PI) / 180);
  t.ok(Math.abs(areaOf(field) / (height * width) - 1) < 1e-6, "a field is as on a plane");
  t.end();
});

t.test("a line on the map follows the great circle, without a jump", (t) => {
  const line = greatCircle([50, 170], [50, 190]);
  t.same(line[0], [50, 170]);
  t.same(line.at(-1), [50, 190]);
  t.ok(
    line.some(([lat]) => lat > 50.3),
    "it bends towards the pole",
  );
  for (const [index, [, lon]] of line.entries()) if (index > 0) t.ok(Math.abs(lon - line[index - 1]![1]) < 3);
  t.same(greatCircle([0, 0], [0, 0.5]).length, 2, "a short one is straight");
  near(
    lengthOf(greatCircle([10, 0], [60, 120])),
    lengthOf([
      [10, 0],
      [60, 120],
    ]),
    "as long as between its ends",
  );
  t.end();
});
