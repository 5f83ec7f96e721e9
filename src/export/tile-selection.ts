import { badRequest, failed } from "../errors.js";
import { type ContractBox, type GeoEnvelope, toMercator } from "../geo/envelope.js";
import type { Region } from "../geo/region.js";
import { mercatorHalf } from "../geo/tile.js";
import { clampLatitude, countTiles, mercatorLatitude, type TileArea, turnOf } from "../geo/tile-area.js";

/** Which tiles an export has: a box, and a range of zooms. */

export interface TileChoice {
  /** Absent: the extent of what the tiles show. */
  readonly box?: GeoEnvelope | undefined;
  /** Only where this is; absent = everywhere in the box. */
  readonly region?: Region | undefined;
  /** Default: 0. */
  readonly minZoom?: number | undefined;
  /** Default: as far as `defaultMaxZoom` and `defaultTiles` go. */
  readonly maxZoom?: number | undefined;
}

export interface TileSelection {
  readonly area: TileArea;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** How many there are. */
  readonly tiles: number;
}

/** Without a `maxZoom`, an export goes to the last zoom up to this one at which it has no more tiles than that. */
export const defaultMaxZoom = 18;
export const defaultTiles = 10_000;
/** Symbols and labels reach beyond their objects. */
const symbolPixels = 32;

const world: GeoEnvelope = { west: -180, south: -mercatorLatitude, east: 180, north: mercatorLatitude };

/**
 * @param extent of what the tiles show; null = they show nothing that has one
 * @param limit number of tiles
 * @throws Failure bad_request; invalid_value when there are more tiles than the limit
 */
export function selectTiles(choice: TileChoice, extent: ContractBox | null, limit: number): TileSelection {
  const { region } = choice;
  const area: TileArea = choice.box
    ? { box: choice.box, marginPixels: 0, region }
    : { box: extent ? envelopeOf(extent) : world, marginPixels: symbolPixels, region };
  const minZoom = choice.minZoom ?? 0;
  const maxZoom = choice.maxZoom ?? lastZoom(area, minZoom, defaultMaxZoom, Math.min(limit, defaultTiles));
  if (minZoom > maxZoom) throw badRequest("minzoom must not be greater than maxzoom.");
  const tiles = countTiles(area, minZoom, maxZoom);
  if (tiles > limit) throw tooMany({ area, minZoom, maxZoom, tiles }, limit);
  return { area, minZoom, maxZoom, tiles };
}

const envelopeOf = ({ sw, ne }: ContractBox): GeoEnvelope => ({
  south: sw[0],
  west: sw[1],
  north: ne[0],
  east: ne[1],
});

/** The last zoom up to `most` with no more tiles in all than `limit`; at least `minZoom`. */
function lastZoom(area: TileArea, minZoom: number, most: number, limit: number): number {
  let z = minZoom;
  while (z < most && countTiles(area, minZoom, z + 1) <= limit) z++;
  return z;
}

function tooMany({ area, minZoom, maxZoom, tiles }: TileSelection, limit: number) {
  const possible = lastZoom(area, minZoom, maxZoom, limit);
  const fits = countTiles(area, minZoom, possible) <= limit;
  const remedy = fits ? `a smaller box, or zooms up to ${possible}` : "a smaller box, or lower zooms";
  return failed(
    "invalid_value",
    `The export would have ${tiles} tiles, and may have ${limit}. Choose ${remedy}.`,
    { tiles, limit, ...(fits ? { maxzoom: possible } : {}) },
  );
}

export interface Place {
  /** Degrees: west, south, east, north; within ±180. */
  readonly bounds: readonly [number, number, number, number];
  /** Degrees and zoom: where a viewer begins. */
  readonly center: readonly [number, number, number];
}

/** Tiles a side of the picture that a viewer begins with. */
const viewTiles = 2;

/** Where the tiles lie. Bounds that cross the antimeridian go around the world, since the formats have no other. */
export function placeOf({ area, minZoom, maxZoom }: TileSelection): Place {
  const { west, east } = turnOf(area.box);
  const [south, north] = [clampLatitude(area.box.south), clampLatitude(area.box.north)];
  const middle = (west + east) / 2;
  const width = Math.min(1, Math.max((east - west) / 360, heightOf(south, north), 2 ** -maxZoom));
  const zoom = Math.max(minZoom, Math.min(maxZoom, Math.floor(Math.log2(viewTiles / width))));
  const bounds = east > 180 ? [-180, south, 180, north] : [west, south, east, north];
  const center = [middle > 180 ? middle - 360 : middle, (south + north) / 2, zoom];
  return {
    bounds: bounds.map(rounded) as [number, number, number, number],
    center: center.map(rounded) as [number, number, number],
  };
}

/** Of the world's. */
const heightOf = (south: number, north: number): number =>
  (toMercator(0, north)[1] - toMercator(0, south)[1]) / (2 * mercatorHalf);

/** To the precision of PMTiles. */
const rounded = (degrees: number): number => Math.round(degrees * 1e7) / 1e7;
