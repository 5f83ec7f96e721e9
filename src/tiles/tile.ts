import type { MissingLayer } from "./missing-layer.js";

/** An encoded tile with the versions of the data that it shows. */
export interface Tile {
  readonly bytes: Uint8Array;
  /** Names what is shown, the core of the ETag: a hash of the bytes as they were first made, which stays when they are packed. */
  readonly hash: string;
  /** Colour of a tile of one colour, as 0xAABBGGRR. */
  readonly solid: number | undefined;
  /**
   * Versions of the plan's layers, in its order, read before the render; tiles share the array. Replaced by later ones when a
   * check finds that no change affects the tile (`TileMemory.raise`).
   */
  versions: readonly number[];
  /** Until when it may be shown, by the clock of this node; absent = as long as the versions hold. */
  readonly expiresAt?: number | undefined;
  /** Layers that it should show and that are missing, or parts of which are; absent = none. Nobody keeps it then. */
  readonly missing?: readonly MissingLayer[] | undefined;
  /** Whether the bytes were packed as closely as they can be. */
  readonly isPacked?: boolean | undefined;
}
