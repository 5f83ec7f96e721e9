import { badRequest } from "../errors.js";
import { isTile, type TileCoord } from "../geo/tile.js";
import type { TileFormat, TileQuality } from "./formats.js";

/** Tiles are 256 × scale pixels a side. */
export type TileScale = 1 | 2 | 3;

/** The parameters of a request for a tile. */
export interface TileAddress {
  /** XYZ. */
  readonly coord: TileCoord;
  readonly base: boolean;
  /** Whether `base` is the built-in one, where the project has another. */
  readonly builtinBase?: boolean;
  /** false: without the background colour of the map's style. */
  readonly background?: boolean;
  /** Ids of layers and folders; undefined = what the map shows by default. */
  readonly layers: readonly number[] | undefined;
  readonly scale: TileScale;
  /** Language code; undefined = the map's main language. */
  readonly language: string | undefined;
  readonly format: TileFormat;
  readonly quality: TileQuality;
}

/** @throws Failure bad_request when XYZ coordinates are out of range */
export function coordOf(z: number, x: number, y: number): TileCoord {
  if (!isTile(z, x, y)) throw badRequest(`There is no tile ${x}, ${y} at zoom ${z}.`);
  return { z, x, y };
}
