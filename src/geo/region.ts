import { boxesMeet } from "./envelope.js";
import { type MercatorBox, mercatorHalf } from "./tile.js";

/** Parts of the world, in metres of EPSG:3857, that are narrowed down box by box. */

export interface Region {
  /** What of it matters within the box; undefined = it does not meet the box. Asked again only for boxes within that. */
  within(box: MercatorBox): Region | undefined;
}

type Position = readonly number[];
/** From x, y to x, y. */
type Edge = readonly [x0: number, y0: number, x1: number, y1: number];

const everywhere: Region = { within: () => everywhere };

/** All that meets one of the boxes, in any copy of the world. */
export function regionOfBoxes(boxes: readonly MercatorBox[]): Region {
  return {
    within: (box) => {
      const met = boxes.filter((one) => boxesMeet(one, box));
      return met.length === 0 ? undefined : regionOfBoxes(met);
    },
  };
}

/** Where both are. */
export const regionOfBoth = (one: Region, other: Region): Region => ({
  within: (box) => {
    const [first, second] = [one.within(box), other.within(box)];
    return first && second && regionOfBoth(first, second);
  },
});

/** All that meets one of the polygons, in any copy of the world. @param polygons rings of [x, y], the first ring outside */
export function regionOfPolygons(polygons: readonly (readonly (readonly Position[])[])[]): Region {
  const turn = 2 * mercatorHalf;
  return regionOfAll(
    polygons.map(edgesOf).flatMap((edges) => [
      insideOf(edges),
      ...[-turn, turn]
        .map((dx) => edges.map(([x0, y0, x1, y1]): Edge => [x0 + dx, y0, x1 + dx, y1]))
        // Boxes of tiles reach beyond the edge of the world by their margin.
        .filter((moved) => moved.some(([x0, , x1]) => Math.min(Math.abs(x0), Math.abs(x1)) < turn))
        .map(insideOf),
    ]),
  );
}

function regionOfAll(regions: readonly Region[]): Region {
  return {
    within: (box) => {
      const met = regions.map((one) => one.within(box)).filter((one) => one !== undefined);
      if (met.includes(everywhere)) return everywhere;
      return met.length > 1 ? regionOfAll(met) : met[0];
    },
  };
}

function edgesOf(rings: readonly (readonly Position[])[]): Edge[] {
  const edges: Edge[] = [];
  for (const ring of rings) {
    for (const [index, [x1, y1]] of ring.entries()) {
      const [x0, y0] = ring[(index || ring.length) - 1]!;
      if (x0 !== x1 || y0 !== y1) edges.push([x0!, y0!, x1!, y1!]);
    }
  }
  return edges;
}

/** The inside of a polygon by the even-odd rule. @param edges all but those that end left of it, or are above or below it */
function insideOf(edges: readonly Edge[]): Region {
  return {
    within: (box) => {
      const [xmin, ymin, , ymax] = box;
      const near = edges.filter(
        ([x0, y0, x1, y1]) =>
          Math.max(x0, x1) >= xmin && Math.max(y0, y1) >= ymin && Math.min(y0, y1) <= ymax,
      );
      if (near.some((edge) => meetsBox(edge, box))) return insideOf(near);
      return isInside(near, xmin, (ymin + ymax) / 2) ? everywhere : undefined;
    },
  };
}

/** Whether an odd number of edges lies to the right of the point. */
function isInside(edges: readonly Edge[], x: number, y: number): boolean {
  let inside = false;
  for (const [x0, y0, x1, y1] of edges)
    if (y0 > y !== y1 > y && x < x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)) inside = !inside;
  return inside;
}

/** Whether a line meets a box: it does unless an edge of the box, or the line itself, separates them. */
function meetsBox([x0, y0, x1, y1]: Edge, [xmin, ymin, xmax, ymax]: MercatorBox): boolean {
  if (Math.max(x0, x1) < xmin || Math.min(x0, x1) > xmax) return false;
  if (Math.max(y0, y1) < ymin || Math.min(y0, y1) > ymax) return false;
  const side = (x: number, y: number) => Math.sign((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0));
  const sides = [side(xmin, ymin), side(xmin, ymax), side(xmax, ymin), side(xmax, ymax)];
  return Math.min(...sides) <= 0 && Math.max(...sides) >= 0;
}
