import { type MercatorBox, maxZoom, mercatorHalf, type TileCoord, tileMetres } from "../geo/tile.js";

/**
 * Surrogate keys: names by which a cache in front of the server finds the answers that a change has made old.
 *
 *     <edge.name>                   anything of this installation
 *     p<project> m<map>             anything of it
 *     l<layer>                      a tile that shows the layer
 *     o<layer>                      an answer that any object of the layer may change: lists, statistics in tiles
 *     n<map>                        the same of many layers of the map
 *     w<map>                        a tile that shows so many layers of the map that it does not name them
 *     t, u, v<layer>.<cell>         a tile that shows the layer, by its place
 *     wt, wu, wv<map>.<cell>        the same of a tile that does not name its layers
 *     a<map>.<cell>                 a tile in this cell, at any zoom two or more below it
 *
 * A cell is a square of the quad grid that tiles are on. `t` and `u` are the tile's own cell: of tiles that depend on what
 * lies up to 16 and up to 64 pixels away. `v` is the square of 4 × 4 tiles of other tiles, which includes those whose labels
 * depend on those of their neighbours; these are the cells of a zoom, which stands before them.
 */

/** What a tile shows. */
export interface TileContent {
  readonly projectId: number;
  /** The map, and its base map if that has layers of its own; with the ids of the layers shown. */
  readonly maps: readonly { readonly id: number; readonly layers: readonly number[] }[];
  /** Layers of which any object changes what is shown. */
  readonly whole: readonly number[];
  /** Unscaled pixels around the tile whose objects count; at most 256. */
  readonly reachPixels: number;
  /** Whether what counts for one tile of a metatile counts for all. */
  readonly isBound: boolean;
}

/** Pixels that a tile depends on around it, by the kind of its cell. */
const reaches = [
  { kind: "t", pixels: 16, side: 1 },
  { kind: "u", pixels: 64, side: 1 },
  { kind: "v", pixels: 256, side: 4 },
] as const;
/** What a cell is reached from. */
interface Reach {
  /** Unscaled pixels around a tile. */
  readonly pixels: number;
  /** Tiles a side. */
  readonly side: number;
}

/** Layers of a map that a tile names. The keys of a tile of two such maps take less than 1 kB. */
export const mostNamed = 12;

/** Layers of a tile that are named as a whole. */
const mostWhole = 4;

/** Zooms between those whose cells tiles name as what they lie in. */
const ancestorStep = 2;
const firstAncestor = 2;

/** The keys of a tile. */
export function tileKeys(content: TileContent, coord: TileCoord): string[] {
  const { projectId, maps, whole, reachPixels, isBound } = content;
  const reach = isBound ? reaches[2] : reaches.find(({ pixels }) => reachPixels <= pixels)!;
  const cell = cellOf(reach, coord.z, Math.floor(coord.x / reach.side), Math.floor(coord.y / reach.side));
  const keys = [`p${projectId}`, ...maps.map(({ id }) => `m${id}`), ...wholeKeys(maps[0]!.id, whole)];
  for (const { id, layers } of maps) {
    if (layers.length > mostNamed) keys.push(`w${id}`, `w${reach.kind}${short(id)}.${cell}`);
    else for (const layer of layers) keys.push(`l${layer}`, `${reach.kind}${short(layer)}.${cell}`);
    if (layers.length === 0) continue;
    for (let zoom = firstAncestor; zoom <= coord.z - 2; zoom += ancestorStep) {
      const side = 2 ** (coord.z - zoom);
      keys.push(`a${short(id)}.${square(zoom, Math.floor(coord.x / side), Math.floor(coord.y / side))}`);
    }
  }
  return keys;
}

/** The keys of an answer that any object of these layers may change. */
const wholeKeys = (map: number, layers: readonly number[]): string[] =>
  layers.length > mostWhole ? [`n${map}`] : layers.map((id) => `o${id}`);

/** A change of a layer's objects. */
export interface ObjectsChange {
  readonly layer: number;
  readonly map: number;
  /** Whether tiles may show so many layers of the map that they do not name them. */
  readonly isWide: boolean;
  /** Where: boxes in EPSG:3857 metres one after the other, also beyond ±180°; null = anywhere. */
  readonly area: readonly number[] | null;
}

/** Cells of a zoom that a box is described by; larger ones take what they lie in. */
const mostCells = 256;

/** Adds the keys of all answers that the change may have made old. */
export function addChangeKeys(keys: Set<string>, { layer, map, isWide, area }: ObjectsChange): void {
  keys.add(`o${layer}`);
  keys.add(`n${map}`);
  if (area === null) {
    keys.add(`l${layer}`);
    if (isWide) keys.add(`w${map}`);
    return;
  }
  for (let at = 0; at + 3 < area.length; at += 4) {
    const box = [area[at]!, area[at + 1]!, area[at + 2]!, area[at + 3]!] as const;
    const last = lastExactZoom(box);
    for (let zoom = 0; zoom <= last; zoom++) {
      for (const reach of reaches) {
        for (const [x, y] of cellsIn(box, zoom, reach)) {
          const cell = cellOf(reach, zoom, x, y);
          keys.add(`${reach.kind}${short(layer)}.${cell}`);
          if (isWide) keys.add(`w${reach.kind}${short(map)}.${cell}`);
        }
      }
    }
    if (last === maxZoom) continue;
    const ancestors = last - 1;
    // What tiles two zooms below depend on, at most: those of lower zooms are closer.
    const around = { pixels: reaches[2].pixels / 4, side: 1 };
    for (const [x, y] of cellsIn(box, ancestors, around))
      keys.add(`a${short(map)}.${square(ancestors, x, y)}`);
  }
}

/** The last zoom whose cells are named one by one. All below are told by the cells of the zoom before it. */
function lastExactZoom(box: MercatorBox): number {
  for (let zoom = firstAncestor + 2; zoom <= maxZoom; zoom++) {
    if (countOf(box, zoom) <= mostCells) continue;
    return zoom - (zoom % ancestorStep) - ancestorStep + 1;
  }
  return maxZoom;
}

function countOf(box: MercatorBox, zoom: number): number {
  const { columns, first, last } = rangeOf(box, zoom, reaches[0]);
  return columns * Math.max(0, last - first + 1);
}

interface CellRange {
  /** The first column, which may be beyond the edge of the world, and how many there are. */
  readonly west: number;
  readonly columns: number;
  /** Rows; none if `last` is less than `first`. */
  readonly first: number;
  readonly last: number;
  /** Cells a side of the world. */
  readonly count: number;
}

/** For what rounding may move. */
const tolerance = 1e-6;

function rangeOf([xmin, ymin, xmax, ymax]: MercatorBox, zoom: number, reach: Reach): CellRange {
  const metres = tileMetres(zoom) * reach.side;
  const around = (reach.pixels / 256) * tileMetres(zoom);
  const count = Math.max(1, 2 ** zoom / reach.side);
  const column = (x: number) => (x + mercatorHalf) / metres;
  const row = (y: number) => (mercatorHalf - y) / metres;
  const west = Math.floor(column(xmin - around) - tolerance);
  const east = Math.floor(column(xmax + around) + tolerance);
  return {
    west,
    columns: Math.min(count, east - west + 1),
    first: Math.max(0, Math.floor(row(ymax + around) - tolerance)),
    last: Math.min(count - 1, Math.floor(row(ymin - around) + tolerance)),
    count,
  };
}

function* cellsIn(box: MercatorBox, zoom: number, reach: Reach): Generator<readonly [x: number, y: number]> {
  const { west, columns, first, last, count } = rangeOf(box, zoom, reach);
  for (let column = 0; column < columns; column++) {
    // The world goes on beyond its edge.
    const x = (((west + column) % count) + count) % count;
    for (let y = first; y <= last; y++) yield [x, y];
  }
}

const cellOf = ({ side }: Pick<Reach, "side">, zoom: number, x: number, y: number): string =>
  side === 1 ? square(zoom, x, y) : `${short(zoom)}.${square(Math.max(0, zoom - 2), x, y)}`;

const short = (id: number): string => id.toString(36);

/** A square of the quad grid: its place on the Z-order curve, after all squares of lower zooms. */
function square(zoom: number, x: number, y: number): string {
  let place = 1;
  for (let bit = zoom - 1; bit >= 0; bit--)
    place = place * 4 + (Math.floor(x / 2 ** bit) % 2) + 2 * (Math.floor(y / 2 ** bit) % 2);
  return short(place);
}
