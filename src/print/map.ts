import type { Geometry, Position } from "geojson";
import type { Caller, MapState } from "../catalog/state.js";
import { type MercatorBox, mercatorHalf } from "../geo/tile.js";
import type { PrintedMap, PrintedPlace } from "../hosts/messages.js";
import { png } from "../tiles/formats.js";
import type { Planner } from "../tiles/planner.js";
import type { TileService } from "../tiles/service.js";

/** The small map of a printed object. Its units are pixels of unscaled tiles. */

const frame = { width: 640, height: 300 };
const tileSide = 256;
/** A place alone needs more of its surroundings than a shape. */
const highestZoom = { place: 14, shape: 17 };
const maxPlaces = 200_000;

/** What part of the world is shown. */
export interface Cutting {
  readonly z: number;
  /** Pixels of the whole world at that zoom. */
  readonly left: number;
  readonly top: number;
}

const worldPixels = (z: number): number => tileSide * 2 ** z;
const pixelX = (x: number, z: number): number => ((x + mercatorHalf) / (2 * mercatorHalf)) * worldPixels(z);
const pixelY = (y: number, z: number): number => ((mercatorHalf - y) / (2 * mercatorHalf)) * worldPixels(z);

/** The cutting that shows a box (EPSG:3857) with some of what is around it. */
export function cuttingOf([xmin, ymin, xmax, ymax]: MercatorBox): Cutting {
  const isPlace = xmax - xmin < 1 && ymax - ymin < 1;
  let z = isPlace ? highestZoom.place : highestZoom.shape;
  const fits = () =>
    pixelX(xmax, z) - pixelX(xmin, z) <= 0.8 * frame.width &&
    pixelY(ymin, z) - pixelY(ymax, z) <= 0.8 * frame.height;
  while (z > 1 && !fits()) z--;
  const left = (pixelX(xmin, z) + pixelX(xmax, z) - frame.width) / 2;
  const top = (pixelY(ymin, z) + pixelY(ymax, z) - frame.height) / 2;
  return { z, left, top: Math.max(0, Math.min(top, worldPixels(z) - frame.height)) };
}

export interface MapWish {
  readonly map: MapState;
  readonly caller: Caller;
  readonly language: string;
  readonly cutting: Cutting;
  /** In EPSG:3857. */
  readonly geometry: Geometry;
  readonly attribution: string;
  readonly signal: AbortSignal;
}

/** Draws the tiles of a cutting. @throws Failure busy, internal */
export async function printedMap(
  services: { readonly planner: Planner; readonly tiles: TileService },
  wish: MapWish,
): Promise<PrintedMap> {
  const { cutting, signal } = wish;
  const { z, left, top } = cutting;
  const side = 2 ** z;
  const plan = await services.planner.plan(wish.map, wish.caller, {
    coord: { z, x: 0, y: 0 },
    base: true,
    layers: undefined,
    scale: 2,
    language: wish.language,
    format: png,
    quality: 0,
  });
  const tiles: Promise<PrintedMap["tiles"][number]>[] = [];
  for (let y = Math.floor(top / tileSide); y * tileSide < top + frame.height; y++) {
    for (let x = Math.floor(left / tileSide); x * tileSide < left + frame.width; x++) {
      if (y < 0 || y >= side) continue;
      // The world goes on beyond its edges.
      const coord = { z, x: ((x % side) + side) % side, y };
      tiles.push(
        services.tiles
          // One signal for each: a dozen listeners of one signal look like a leak.
          .tile({ plan, coord, format: png, quality: 0, signal: () => AbortSignal.any([signal]) })
          .then(({ bytes }) => ({ x: x * tileSide - left, y: y * tileSide - top, png: bytes })),
      );
    }
  }
  return {
    ...frame,
    tileSide,
    tiles: await Promise.all(tiles),
    ...partsOf(wish.geometry, cutting),
    attribution: wish.attribution,
  };
}

/** A geometry's parts in pixels of the cutting; none when it has too many places to be drawn. */
export function partsOf(
  geometry: Geometry,
  { z, left, top }: Cutting,
): Pick<PrintedMap, "points" | "lines" | "areas"> {
  const points: PrintedPlace[] = [];
  const lines: PrintedPlace[][] = [];
  const areas: PrintedPlace[][][] = [];
  let places = 0;
  const place = ([x = 0, y = 0]: Position): PrintedPlace => {
    places++;
    return [pixelX(x, z) - left, pixelY(y, z) - top];
  };
  const line = (positions: Position[]) => positions.map(place);
  const visit = (one: Geometry): void => {
    switch (one.type) {
      case "Point":
        if (one.coordinates.length > 0) points.push(place(one.coordinates));
        break;
      case "MultiPoint":
        for (const position of one.coordinates) points.push(place(position));
        break;
      case "LineString":
        lines.push(line(one.coordinates));
        break;
      case "MultiLineString":
        for (const positions of one.coordinates) lines.push(line(positions));
        break;
      case "Polygon":
        areas.push(one.coordinates.map(line));
        break;
      case "MultiPolygon":
        for (const rings of one.coordinates) areas.push(rings.map(line));
        break;
      case "GeometryCollection":
        for (const part of one.geometries) visit(part);
        break;
    }
  };
  visit(geometry);
  return places > maxPlaces ? { points: [], lines: [], areas: [] } : { points, lines, areas };
}
