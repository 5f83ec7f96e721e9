import t from "tap";
import { partsOf } from "../../src/print/map.js";

/** The places of a printed object. */

const viewport = { z: 0, left: 0, top: 0, width: 256, height: 256 };

t.test("a geometry of any number of parts is taken apart, and one of too many places is not drawn", (t) => {
  const many = (count: number) => Array.from({ length: count }, () => [0, 0]);
  for (const count of [150_000, 200_000]) {
    t.equal(partsOf({ type: "MultiPoint", coordinates: many(count) }, viewport).points.length, count);
    const lines = { type: "MultiLineString" as const, coordinates: many(count).map((place) => [place]) };
    t.equal(partsOf(lines, viewport).lines.length, count);
    const areas = { type: "MultiPolygon" as const, coordinates: many(count).map((place) => [[place]]) };
    t.equal(partsOf(areas, viewport).areas.length, count);
  }
  t.same(partsOf({ type: "MultiPoint", coordinates: many(200_001) }, viewport), {
    points: [],
    lines: [],
    areas: [],
  });
  t.end();
});
