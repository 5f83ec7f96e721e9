/**
 * The order of tiles along Hilbert's curve, by which PMTiles numbers them
 * (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md). Tiles that are neighbours in it are neighbours on the
 * map, and each aligned square of 2^n × 2^n tiles is one run of numbers.
 */

/** Number of the first tile of a zoom: all tiles of lower zooms come before. */
const firstId = (z: number): number => (4 ** z - 1) / 3;

/** Number of an XYZ tile among those of all zooms, from 0 for the tile of zoom 0. Exact up to zoom 25. */
export function hilbertId(z: number, x: number, y: number): number {
  let id = firstId(z);
  let [column, row] = [x, y];
  for (let side = 2 ** z / 2; side >= 1; side /= 2) {
    const right = column >= side;
    const lower = row >= side;
    if (right) column -= side;
    if (lower) row -= side;
    id += side * side * quadrantOf(right, lower);
    if (!lower) [column, row] = turned(side, right, column, row);
  }
  return id;
}

/** XYZ column and row of the tile at a place of the curve of its zoom, from 0. */
export function hilbertTile(z: number, place: number): readonly [x: number, y: number] {
  let x = 0;
  let y = 0;
  let rest = place;
  for (let side = 1; side < 2 ** z; side *= 2) {
    const quadrant = rest % 4;
    rest = Math.floor(rest / 4);
    const right = quadrant >= 2;
    const lower = quadrant === 1 || quadrant === 2;
    if (!lower) [x, y] = turned(side, right, x, y);
    if (right) x += side;
    if (lower) y += side;
  }
  return [x, y];
}

/** The curve goes from the upper left quadrant to the lower left, the lower right and the upper right. */
const quadrantOf = (right: boolean, lower: boolean): number => (right ? (lower ? 2 : 3) : lower ? 1 : 0);

/** The curve in the upper quadrants is mirrored, in the right one also turned. */
const turned = (side: number, right: boolean, x: number, y: number): [number, number] =>
  right ? [side - 1 - y, side - 1 - x] : [y, x];
