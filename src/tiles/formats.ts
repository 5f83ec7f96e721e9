/** The formats that tiles are encoded in. Another one is another row here; nothing else names a format. */

/** The contract's `q`: 0 = the best that the format has, 1 = smaller. */
export type TileQuality = 0 | 1;

export interface TileFormat {
  /** Extension in the path of a tile; part of the keys that tiles are cached under. */
  readonly name: string;
  /** Value of `Content-Type`. */
  readonly mediaType: string;
  /** Mapnik's name for the encoding, with its options (`mapnik.Image.encode`). */
  readonly mapnikEncodings: Readonly<Record<TileQuality, string>>;
  /** What the qualities are, for the description of the API. */
  readonly qualities: string;
}

export const png: TileFormat = {
  name: "png",
  mediaType: "image/png",
  mapnikEncodings: { 0: "png32:z=1", 1: "png8:m=h:z=1" },
  qualities: "0 = full-colour PNG, 1 = PNG with a palette, which is smaller.",
};

export const tileFormats: readonly TileFormat[] = [png];

/** For addresses that name no format, and for TileJSON. */
export const defaultTileFormat = png;
