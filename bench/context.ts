import type { TileCoord } from "../src/geo/tile.js";
import type { Plan } from "./rounds.js";
import type { Person } from "./viewers.js";
import type { World } from "./world.js";

/** What a measure works with. */
export interface Context {
  readonly world: World;
  /** `count` tiles around real cities; the same for the same seed. */
  tiles(count: number, seed: number): TileCoord[];
  /** What persons who begin at real cities look at; the same for the same seed. */
  sessions(seed: number): Person[];
  /** How much is measured. */
  readonly size: Size;
}

export interface Size extends Plan {
  /** Length of a round of load. Many short ones say more on a busy machine than a few long ones. */
  readonly seconds: number;
  /** Tiles of a cold round. */
  readonly coldTiles: number;
  /** Persons who look at a map side by side. */
  readonly persons: number;
  /** Looks of each of them. */
  readonly looks: number;
  /** Names to search in. */
  readonly names: number;
  /** Points of an import; polygons are a third. */
  readonly objects: number;
  /** Points of a large layer; lines are a fifth, polygons half. */
  readonly large: number;
  /** Edits that are waited for in a browser. */
  readonly edits: number;
  /** Open maps that listen for changes. */
  readonly listeners: number;
}

export const fullSize: Size = {
  rounds: 9,
  most: 27,
  seconds: 1,
  coldTiles: 200,
  persons: 4,
  looks: 6,
  names: 1_000_000,
  objects: 300_000,
  large: 1_000_000,
  edits: 200,
  listeners: 4_000,
};
export const smallSize: Size = {
  rounds: 1,
  most: 1,
  seconds: 0.1,
  coldTiles: 20,
  persons: 2,
  looks: 2,
  names: 1_000,
  objects: 1_500,
  large: 5_000,
  edits: 2,
  listeners: 50,
};
