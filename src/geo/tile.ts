/** Tile coordinates of the Web Mercator pyramid, and metatiles: squares of tiles that are rendered together. */

/** XYZ address of a tile: origin at the top left, `x` and `y` in 0 … 2^z - 1. */
export interface TileCoord {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** [xmin, ymin, xmax, ymax] in EPSG:3857 metres. */
export type MercatorBox = readonly [xmin: number, ymin: number, xmax: number, ymax: number];

export const maxZoom = 22;
/** Half the width of the Web Mercator square in metres (π × 6378137). */
export const mercatorHalf = 20037508.342789244;
/** Scale denominator of zoom 0, with the OGC's standardized pixel of 0.28 mm. */
export const topScaleDenominator = 559082264.0287178;

/** XYZ `y` of a TMS `y` (origin at the bottom) and back: the mapping is its own inverse. */
export const flipY = (z: number, y: number): number => 2 ** z - 1 - y;

/** Whether the address exists in the pyramid. */
export function isTile(z: number, x: number, y: number): boolean {
  if (!Number.isInteger(z) || z < 0 || z > maxZoom) return false;
  const side = 2 ** z;
  return Number.isInteger(x) && Number.isInteger(y) && x >= 0 && y >= 0 && x < side && y < side;
}

/** Width of a tile at zoom `z`, in metres of EPSG:3857. */
export const tileMetres = (z: number): number => (2 * mercatorHalf) / 2 ** z;

/** Box of `count` × `count` tiles; `tile` is the top left one. */
export function tileBox(tile: TileCoord, count = 1): MercatorBox {
  const side = tileMetres(tile.z);
  const xmin = -mercatorHalf + tile.x * side;
  const ymax = mercatorHalf - tile.y * side;
  return [xmin, ymax - count * side, xmin + count * side, ymax];
}

/** Top left tile of the metatile (`size` × `size` tiles) of `tile`, and its tiles per side: fewer than `size` at low zooms. */
export function metatileOf(
  tile: TileCoord,
  size: number,
): { readonly origin: TileCoord; readonly count: number } {
  const count = Math.min(size, 2 ** tile.z);
  return {
    origin: { z: tile.z, x: tile.x - (tile.x % count), y: tile.y - (tile.y % count) },
    count,
  };
}
