import { type GeoEnvelope, growBox, toMercator } from "./envelope.js";
import { hilbertTile } from "./hilbert.js";
import type { Region } from "./region.js";
import { mercatorHalf, type TileCoord, tileBox, tileMetres } from "./tile.js";

/** The tiles of a box, or of a region in it, zoom by zoom. */

export interface TileArea {
  /** West > east crosses the antimeridian; longitudes beyond ±180 are those of another copy of the world. */
  readonly box: GeoEnvelope;
  /** Pixels around the box and the region, at each zoom, whose tiles belong to it as well. */
  readonly marginPixels: number;
  /** Absent: all of the box. */
  readonly region?: Region | undefined;
}

/** First and last column or row. */
type Span = readonly [first: number, last: number];

interface TileRange {
  /** Two where the area crosses the antimeridian. */
  readonly columns: readonly Span[];
  readonly rows: Span;
}

/** The highest latitude of the square of Web Mercator, in degrees. */
export const mercatorLatitude = 85.0511287798066;

/** In tiles: less than that beyond the edge of a tile comes from rounding. */
const rounding = 1e-6;
const tilePixels = 256;

export const clampLatitude = (latitude: number): number =>
  Math.max(-mercatorLatitude, Math.min(mercatorLatitude, latitude));

/** West in -180 … 180, and east from it on, by less than a turn; all longitudes for a box of a turn or more. */
export function turnOf({ west, east }: GeoEnvelope): { readonly west: number; readonly east: number } {
  if (east - west >= 360) return { west: -180, east: 180 };
  const start = west - 360 * Math.floor((west + 180) / 360);
  const width = east >= west ? east - west : (((east - west) % 360) + 360) % 360;
  return { west: start, east: start + width };
}

function rangeAt({ box, marginPixels }: TileArea, z: number): TileRange {
  const side = 2 ** z;
  const margin = marginPixels / tilePixels;
  const last = (edge: number) => Math.ceil(edge + margin - rounding) - 1;
  const first = (edge: number) => Math.floor(edge - margin + rounding);
  const column = (longitude: number) => ((longitude + 180) / 360) * side;
  const row = (latitude: number) =>
    (0.5 - toMercator(0, clampLatitude(latitude))[1] / (2 * mercatorHalf)) * side;
  const { west, east } = turnOf(box);
  const left = first(column(west));
  const within = (value: number) => Math.max(0, Math.min(side - 1, value));
  const top = within(first(row(box.north)));
  return {
    columns: wrapped(left, Math.max(left, last(column(east))), side),
    rows: [top, Math.max(top, within(last(row(box.south))))],
  };
}

/** Columns of the one world that there is. */
function wrapped(left: number, right: number, side: number): Span[] {
  if (right - left + 1 >= side) return [[0, side - 1]];
  const start = ((left % side) + side) % side;
  const end = start + right - left;
  return end < side
    ? [[start, end]]
    : [
        [0, end - side],
        [start, side - 1],
      ];
}

/** How many tiles the area has at these zooms. */
export function countTiles(area: TileArea, minZoom: number, maxZoom: number): number {
  let count = 0;
  for (let z = minZoom; z <= maxZoom; z++) {
    if (area.region) {
      for (const square of tileSquares(area, z)) count += square.length;
      continue;
    }
    const { columns, rows } = rangeAt(area, z);
    const width = columns.reduce((sum, [first, last]) => sum + last - first + 1, 0);
    count += width * (rows[1] - rows[0] + 1);
  }
  return count;
}

/** Log2 of the tiles a side of the squares of `tileSquares`. */
export const squareZooms = 2;

/**
 * The tiles of the area at a zoom along Hilbert's curve, in the aligned squares of 4 × 4 tiles that metatiles are; of squares
 * at the edge those that lie in the area.
 */
export function* tileSquares(area: TileArea, z: number): Generator<readonly TileCoord[], void> {
  const range = rangeAt(area, z);
  const depth = Math.max(0, z - squareZooms);
  const perSquare = 4 ** (z - depth);
  const margin = (area.marginPixels / tilePixels) * tileMetres(z);
  const part = (region: Region | undefined, tile: TileCoord) =>
    region?.within(growBox(tileBox(tile), margin));
  const world: Square = { level: 0, place: 0, region: area.region };
  for (const { place: square, region } of squaresOf({ range, z, depth, part }, world)) {
    const coords: TileCoord[] = [];
    for (let place = square * perSquare; place < (square + 1) * perSquare; place++) {
      const [x, y] = hilbertTile(z, place);
      if (meets(range, x, y, 1) && (!region || part(region, { z, x, y }))) coords.push({ z, x, y });
    }
    if (coords.length > 0) yield coords;
  }
}

/** A square of the quadtree by its place along the curve of zoom `level`, and what of the region lies in it. */
interface Square {
  readonly level: number;
  readonly place: number;
  readonly region: Region | undefined;
}

interface Search {
  readonly range: TileRange;
  readonly z: number;
  /** Level of the squares that are looked for. */
  readonly depth: number;
  /** What of a region lies in a tile, with the margin. */
  readonly part: (region: Region | undefined, tile: TileCoord) => Region | undefined;
}

/** The squares in `square` that meet the range and the region. */
function* squaresOf(search: Search, { level, place, region }: Square): Generator<Square, void> {
  const { range, z, depth, part } = search;
  const [x, y] = hilbertTile(level, place);
  const side = 2 ** (z - level);
  if (!meets(range, x * side, y * side, side)) return;
  const within = part(region, { z: level, x, y });
  if (region && !within) return;
  if (level === depth) yield { level, place, region: within };
  else
    for (let quarter = 0; quarter < 4; quarter++)
      yield* squaresOf(search, { level: level + 1, place: 4 * place + quarter, region: within });
}

const meets = ({ columns, rows }: TileRange, x: number, y: number, side: number): boolean =>
  overlaps(rows, y, side) && columns.some((span) => overlaps(span, x, side));

const overlaps = ([first, last]: Span, start: number, length: number): boolean =>
  start <= last && start + length > first;
