import type { TileCoord } from "../src/geo/tile.js";
import type { World } from "./world.js";

/** What a measure works with. */
export interface Context {
  readonly world: World;
  /** `count` tiles around real cities; the same for the same seed. */
  tiles(count: number, seed: number): TileCoord[];
  /** How much is measured. */
  readonly size: Size;
}

export interface Size {
  /** Turns that each side gets; an odd number has a true median. */
  readonly rounds: number;
  /** Length of a round of load. */
  readonly seconds: number;
  /** Tiles of a cold round. */
  readonly coldTiles: number;
}

export const fullSize: Size = { rounds: 5, seconds: 2, coldTiles: 400 };
export const smallSize: Size = { rounds: 1, seconds: 1, coldTiles: 40 };
