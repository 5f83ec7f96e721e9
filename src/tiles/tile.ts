/** One encoded tile with what it takes to tell whether it is still right. */
export interface Tile {
  readonly bytes: Uint8Array;
  /** Hash of the bytes, the core of the ETag. */
  readonly hash: string;
  /** Colour of a tile of one colour, as 0xAABBGGRR. */
  readonly solid: number | undefined;
  /** Versions of the plan's layers, in its order, read before the render began; raised when a check finds the tile untouched. */
  readonly versions: number[];
}
