/** The formats that images of tiles are encoded in. Another one is another row here; nothing else names a format. */

/** The contract's `q`: 0 = the best that the format has, 1 = smaller. */
export type TileQuality = 0 | 1;

export interface TileEncoding {
  /** Extension in the path of a tile; part of the keys that tiles are cached under. */
  readonly name: string;
  /** Value of `Content-Type`. */
  readonly mediaType: string;
}

/** A format of images. */
export interface TileFormat extends TileEncoding {
  /** Mapnik's name for the encoding, with its options (`mapnik.Image.encode`). */
  readonly mapnikEncodings: Readonly<Record<TileQuality, string>>;
  /** What the qualities are, for the description of the API. */
  readonly qualities: string;
}

export const png: TileFormat = {
  name: "png",
  mediaType: "image/png",
  // The palette is chosen by a tree of colours with their opacity. With a gamma of 1 the steps of gradients are even; its
  // default leaves bright ones twice as coarse.
  mapnikEncodings: { 0: "png32:z=1", 1: "png8:m=h:z=1:g=1" },
  qualities: "PNG: 0 = full-colour, 1 = with a palette, which is smaller.",
};

/**
 * Full colour in the bytes of a PNG with a palette; with a loss in fewer where much is drawn, and in less time. Below a quality of
 * 90 thin borders between pale colours fade.
 */
const webp: TileFormat = {
  name: "webp",
  mediaType: "image/webp",
  mapnikEncodings: { 0: "webp:lossless=1:quality=0:method=0", 1: "webp:quality=90:method=2" },
  qualities:
    "WebP: 0 = lossless, 1 = with a small loss, smaller than a PNG with a palette where much is drawn.",
};

export const tileFormats: readonly TileFormat[] = [png, webp];

/** For addresses that name no format, and for TileJSON. */
export const defaultTileFormat = png;
