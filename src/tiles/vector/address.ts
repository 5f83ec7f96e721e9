import type { AnyAddress } from "../answers.js";
import type { TileEncoding } from "../formats.js";

/** Addresses of vector tiles. */

/** https://github.com/mapbox/vector-tile-spec/tree/master/2.1 */
export const mvt: TileEncoding = { name: "mvt", mediaType: "application/vnd.mapbox-vector-tile" };

export interface VectorAddress extends AnyAddress {
  /** Ids of layers and folders; undefined = what the map shows by default. */
  readonly layers: readonly number[] | undefined;
  /** Language code; undefined = the map's main language. */
  readonly language: string | undefined;
}
