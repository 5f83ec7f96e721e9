import type { MercatorBox, TileCoord } from "../../src/geo/tile.js";
import { tileBox } from "../../src/geo/tile.js";

/** The cells of a simulated world, where objects are: each is in the middle of one tile of zoom 3. */

/** Two tiles of one metatile, and one of another. */
const tiles: readonly TileCoord[] = [
  { z: 3, x: 1, y: 1 },
  { z: 3, x: 2, y: 1 },
  { z: 3, x: 5, y: 1 },
];

export const cells: readonly number[] = [0, 1, 2];

/** Tiles that are requested. */
export const requestedTiles: readonly TileCoord[] = [...tiles, { z: 1, x: 0, y: 0 }];

const boxes = tiles.map((tile): MercatorBox => {
  const [xmin, ymin, xmax, ymax] = tileBox(tile);
  const [x, y] = [(xmin + xmax) / 2, (ymin + ymax) / 2];
  return [x, y, x + 1, y + 1];
});

export const boxOfCell = (cell: number): MercatorBox => boxes[cell]!;

/** Cells in a box. */
const cellsIn = (box: MercatorBox): readonly number[] =>
  cells.filter((cell) => {
    const [x, y] = boxOfCell(cell);
    return x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3];
  });

const places = new Map<string, readonly (readonly number[])[]>();

/** Cells in each tile of a metatile, row by row from the top left. */
export function placesOf(origin: TileCoord, count: number): readonly (readonly number[])[] {
  const { z, x, y } = origin;
  const key = `${z}/${x}/${y}/${count}`;
  let known = places.get(key);
  if (!known) {
    known = Array.from({ length: count * count }, (_, index) =>
      cellsIn(tileBox({ z, x: x + (index % count), y: y + Math.floor(index / count) })),
    );
    places.set(key, known);
  }
  return known;
}

/** Cells in a tile. */
export const cellsOf = (coord: TileCoord): readonly number[] => placesOf(coord, 1)[0]!;
