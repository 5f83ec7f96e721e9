import { promisify } from "node:util";
import { deflate } from "node:zlib";
import type { PackResponse } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikImage } from "./mapnik.js";
import { pngOf } from "./png.js";
import { filtered, indexed, type Pixels, withoutOpaqueAlpha } from "./png-rows.js";

/**
 * Encodes tiles more closely than there is time for while somebody waits for them. The pixels stay the same, which is
 * checked.
 */

/** Something else is to be done now. */
class GivenUp extends Error {}

const deflated = promisify(deflate) as (bytes: Uint8Array, options: object) => Promise<Buffer>;
/** The most work that zlib does. */
const closely = { level: 9, memLevel: 9 };
const closestWebp = "webp:lossless=1:quality=75:method=4";

export interface PackOptions {
  readonly mapnik: Pick<Mapnik, "Image">;
  /** Whether something else is to be done: then packing is given up. */
  readonly isBusy: () => boolean;
}

/** @param bytes of a tile, PNG or WebP */
export async function packTile({ mapnik, isBusy }: PackOptions, bytes: Uint8Array): Promise<PackResponse> {
  const pause = async () => {
    // What has come meanwhile is heard of first.
    await new Promise((resolve) => setImmediate(resolve));
    if (isBusy()) throw new GivenUp();
  };
  try {
    const image = await decoded(mapnik, bytes);
    await pause();
    const packed = isPng(bytes) ? await closestPng(image, pause) : await encoded(image, closestWebp);
    if (packed.length >= bytes.length) return { isDone: true };
    await pause();
    const isSame = image.data().equals((await decoded(mapnik, packed)).data());
    return { isDone: true, ...(isSame && { bytes: packed }) };
  } catch (error) {
    if (error instanceof GivenUp) return { isDone: false };
    throw error;
  }
}

/** The smallest of some ways to write the pixels: with a palette if they have few colours, else with filtered rows. */
async function closestPng(image: MapnikImage, pause: () => Promise<void>): Promise<Buffer> {
  const pixels: Pixels = { width: image.width(), height: image.height(), rgba: image.data() };
  const palette = indexed(pixels);
  if (palette) return pngOf(palette, await deflated(palette.rows, closely));
  await pause();
  const plain = withoutOpaqueAlpha(pixels);
  let best: Buffer | undefined;
  for (const kind of ["none", "least"] as const) {
    const rows = await filtered(plain, kind, pause);
    const packed = await deflated(rows, closely);
    await pause();
    if (!best || packed.length < best.length) best = packed;
  }
  return pngOf(plain, best!);
}

const isPng = (bytes: Uint8Array): boolean => bytes[0] === 0x89 && bytes[1] === 0x50;

const decoded = (mapnik: Pick<Mapnik, "Image">, bytes: Uint8Array): Promise<MapnikImage> =>
  new Promise((resolve, reject) => {
    const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    mapnik.Image.fromBytes(own, (error, image) => (error ? reject(error) : resolve(image)));
  });

const encoded = (image: MapnikImage, encoding: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    image.encode(encoding, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });
