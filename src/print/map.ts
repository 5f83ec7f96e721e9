import type { Geometry, Position } from "geojson";
import type { Caller, MapState } from "../catalog/state.js";
import { type MercatorBox, mercatorHalf, metatileOf, type TileCoord } from "../geo/tile.js";
import type { PrintedMap, PrintedPlace } from "../hosts/messages.js";
import { png } from "../tiles/formats.js";
import { metatileSide } from "../tiles/metatile.js";
import { type MissingLayer, namesOf } from "../tiles/missing-layer.js";
import type { Planner } from "../tiles/planner.js";
import type { TileService } from "../tiles/tile-service.js";

/** The map of an object in a PDF. Units are pixels of tiles at scale 1. */

const frame = { width: 640, height: 300 };
const tileSide = 256;
/** Points are shown at a lower zoom, with more of their surroundings. */
const maxZoom = { point: 14, shape: 17 };
const maxPositions = 200_000;

/** The part of the world that is shown. */
export interface Viewport {
  readonly z: number;
  /** Top left corner in pixels of the world at zoom z. */
  readonly left: number;
  readonly top: number;
}

const worldPixels = (z: number): number => tileSide * 2 ** z;
const pixelX = (x: number, z: number): number => ((x + mercatorHalf) / (2 * mercatorHalf)) * worldPixels(z);
const pixelY = (y: number, z: number): number => ((mercatorHalf - y) / (2 * mercatorHalf)) * worldPixels(z);

/** The viewport that shows a box (EPSG:3857) with a margin. */
export function viewportOf([xmin, ymin, xmax, ymax]: MercatorBox): Viewport {
  const isPoint = xmax - xmin < 1 && ymax - ymin < 1;
  let z = isPoint ? maxZoom.point : maxZoom.shape;
  const fits = () =>
    pixelX(xmax, z) - pixelX(xmin, z) <= 0.8 * frame.width &&
    pixelY(ymin, z) - pixelY(ymax, z) <= 0.8 * frame.height;
  while (z > 1 && !fits()) z--;
  const left = (pixelX(xmin, z) + pixelX(xmax, z) - frame.width) / 2;
  const top = (pixelY(ymin, z) + pixelY(ymax, z) - frame.height) / 2;
  return { z, left, top: Math.max(0, Math.min(top, worldPixels(z) - frame.height)) };
}

export interface MapRequest {
  readonly map: MapState;
  readonly caller: Caller;
  readonly language: string;
  readonly viewport: Viewport;
  /** In EPSG:3857. */
  readonly geometry: Geometry;
  readonly attribution: string;
  readonly signal: AbortSignal;
  /** For whom it is drawn. */
  readonly client: string;
}

/** A map, and what it should show and does not. */
export interface DrawnMap {
  readonly printed: PrintedMap;
  readonly missing: readonly MissingLayer[];
}

/** Renders the tiles of a viewport. @throws Failure busy, internal */
export async function printedMap(
  services: { readonly planner: Planner; readonly tiles: TileService },
  request: MapRequest,
): Promise<DrawnMap> {
  const { viewport, client, signal } = request;
  const { z, left, top } = viewport;
  const plan = await services.planner.plan(request.map, request.caller, {
    coord: { z, x: 0, y: 0 },
    base: true,
    layers: undefined,
    scale: 2,
    language: request.language,
    format: png,
    quality: 0,
  });
  const tiles: PrintedMap["tiles"][number][] = [];
  const missing: MissingLayer[] = [];
  const draw = async ({ x, y }: Place): Promise<void> => {
    const tile = await services.tiles.tile({
      plan,
      coord: coordOf({ x, y }, z),
      ...{ format: png, quality: 0, client },
      // A signal per tile: Node warns of a leak when one signal has more than ten listeners.
      signal: () => AbortSignal.any([signal]),
    });
    missing.push(...(tile.missing ?? []));
    tiles.push({ x: x * tileSide - left, y: y * tileSide - top, png: tile.bytes });
  };
  // One metatile after the other, as others' tiles wait for the same renders.
  for (const places of squaresOf(viewport, metatileSide(plan, z)).values())
    await Promise.all(places.map(draw));
  const printed = {
    ...frame,
    tileSide,
    tiles,
    ...partsOf(request.geometry, viewport),
  };
  const notes = [missing.length > 0 && `⚠ Not drawn: ${namesOf(missing)}`, request.attribution];
  return { printed: { ...printed, attribution: notes.filter(Boolean).join(" · ") }, missing };
}

/** A tile of the viewport, counted on beyond ±180°. */
type Place = Pick<TileCoord, "x" | "y">;

/** Wraps around the antimeridian. */
const coordOf = ({ x, y }: Place, z: number): TileCoord => ({ z, x: ((x % 2 ** z) + 2 ** z) % 2 ** z, y });

/** The tiles of a viewport by metatiles. @param size tiles a side of a metatile */
function squaresOf({ z, left, top }: Viewport, size: number): Map<string, Place[]> {
  const squares = new Map<string, Place[]>();
  for (let y = Math.floor(top / tileSide); y * tileSide < top + frame.height; y++) {
    for (let x = Math.floor(left / tileSide); x * tileSide < left + frame.width; x++) {
      if (y < 0 || y >= 2 ** z) continue;
      const { origin } = metatileOf(coordOf({ x, y }, z), size);
      const key = `${origin.x} ${origin.y}`;
      squares.set(key, [...(squares.get(key) ?? []), { x, y }]);
    }
  }
  return squares;
}

/** The points, lines and polygons of a geometry in pixels of the viewport; empty when it has too many positions. */
export function partsOf(
  geometry: Geometry,
  { z, left, top }: Viewport,
): Pick<PrintedMap, "points" | "lines" | "areas"> {
  const points: PrintedPlace[] = [];
  const lines: PrintedPlace[][] = [];
  const areas: PrintedPlace[][][] = [];
  let count = 0;
  const toPixels = ([x = 0, y = 0]: Position): PrintedPlace => {
    count++;
    return [pixelX(x, z) - left, pixelY(y, z) - top];
  };
  const line = (positions: Position[]) => positions.map(toPixels);
  const visit = (one: Geometry): void => {
    switch (one.type) {
      case "Point":
        if (one.coordinates.length > 0) points.push(toPixels(one.coordinates));
        break;
      case "MultiPoint":
        for (const position of one.coordinates) points.push(toPixels(position));
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
  return count > maxPositions ? { points: [], lines: [], areas: [] } : { points, lines, areas };
}
