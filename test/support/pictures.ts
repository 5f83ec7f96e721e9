import sharp from "sharp";

/** Reads pixels of images. */

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** [red, green, blue, alpha] at a pixel, from the top left. */
  at(x: number, y: number): [number, number, number, number];
  /** Number of pixels that are not fully transparent. */
  readonly painted: number;
}

export async function picture(png: ArrayBuffer | Uint8Array): Promise<Picture> {
  const { data, info } = await sharp(Buffer.from(png as Uint8Array))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  let painted = 0;
  for (let index = 3; index < data.length; index += 4) if (data[index]! > 0) painted++;
  return {
    width: info.width,
    height: info.height,
    at: (x, y) => [...data.subarray(4 * (y * info.width + x), 4 * (y * info.width + x) + 4)] as never,
    painted,
  };
}
