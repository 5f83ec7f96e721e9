import type { TileCoord } from "../geo/tile.js";
import type { ImageUser } from "../hosts/image.js";
import type { PartImage } from "../hosts/messages.js";

/**
 * A part of a plan that Mapnik does not draw: an image of the metatile's area that is made elsewhere, and laid between the
 * layers below and above it.
 */
export interface ImagePart {
  /** Hash of all that determines the image, except the area and the data. */
  readonly digest: string;
  /** Unscaled pixels that an object may be away from what it changes in the image. */
  readonly reachPixels: number;
  /** Memory that it takes, in characters. */
  readonly length: number;
  /** Makes the image of an area. @throws Failure when it cannot be made just then */
  readonly make: (area: ImageArea, user: ImageUser) => Promise<MadeImage>;
}

export interface MadeImage {
  /** Undefined = nothing is drawn. */
  readonly image: PartImage | undefined;
  /** Until when tiles may show it, by the clock of the node; absent = as long as the versions of its layers hold. */
  readonly expiresAt?: number;
  /** Whether something is missing that may be there soon; without an image, all of it. */
  readonly isPartial?: boolean;
}

/** The area of a metatile. */
export interface ImageArea {
  /** The top left tile. */
  readonly origin: TileCoord;
  /** Tiles a side. */
  readonly count: number;
  /** Tiles are 256 × scale pixels wide. */
  readonly scale: 1 | 2 | 3;
}
