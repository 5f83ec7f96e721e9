import type { MosaicRequest, MosaicResponse } from "../../src/hosts/messages.js";
import { sharp } from "./vips.js";

/** Puts images of a raster service together. */

/** Pixels a side of an image: those of a WMS are as large as a metatile. */
const maxSide = 4_096;
/** Of all images together. */
const maxPixels = 64 * 1024 ** 2;

interface Decoded {
  readonly data: Buffer;
  readonly side: number;
}

/** Images that cannot be read are left out; when none can be read, that is the answer. */
export async function mosaic({
  pieces,
  columns,
  left,
  top,
  side,
  pixels,
}: MosaicRequest): Promise<MosaicResponse> {
  const decoded: (Decoded | undefined)[] = [];
  let known: number | undefined;
  for (const bytes of pieces) {
    const piece = bytes && (await decode(bytes, known));
    known ??= piece?.side;
    if (known !== undefined && (known * columns) ** 2 > maxPixels) return { ok: false };
    decoded.push(piece ?? undefined);
  }
  if (known === undefined) return { ok: false };
  const whole = assembled(decoded, columns, known);
  const width = known * columns;
  // Below a pixel of the service, one colour fills the area.
  const size = Math.max(1, Math.round(side * known));
  const offset = (images: number) => Math.min(width - size, Math.floor(images * known + 1e-6));
  const isWhole = pieces.every((bytes, index) => bytes === null || decoded[index] !== undefined);
  if (size === pixels && size === width) return { ok: true, pixels: whole, isWhole };
  const result = await sharp(whole, { raw: { width, height: width, channels: 4 } })
    .extract({ left: offset(left), top: offset(top), width: size, height: size })
    .resize(pixels, pixels, { fit: "fill", kernel: size < pixels ? "linear" : "lanczos3" })
    .raw()
    .toBuffer();
  return { ok: true, pixels: result, isWhole };
}

/** RGBA of a square image in its own size, or in that of the others. */
async function decode(bytes: Uint8Array, side: number | undefined): Promise<Decoded | undefined> {
  try {
    const source = sharp(bytes, { limitInputPixels: maxSide ** 2, failOn: "error", pages: 1 });
    const { width, height } = await source.metadata();
    if (Math.max(width, height) > maxSide) return undefined;
    const own = side ?? width;
    const same = width === own && height === own;
    const sized = same ? source : source.resize(own, own, { fit: "fill" });
    const data = await sized.toColourspace("srgb").ensureAlpha().raw({ depth: "uchar" }).toBuffer();
    return data.length === 4 * own * own ? { data, side: own } : undefined;
  } catch {
    return undefined;
  }
}

function assembled(pieces: readonly (Decoded | undefined)[], columns: number, side: number): Buffer {
  const only = pieces[0];
  if (columns === 1 && only) return only.data;
  const whole = Buffer.alloc(4 * (columns * side) ** 2);
  for (const [index, piece] of pieces.entries()) {
    if (!piece) continue;
    const [column, row] = [index % columns, Math.floor(index / columns)];
    for (let line = 0; line < side; line++) {
      const target = 4 * ((row * side + line) * columns * side + column * side);
      piece.data.copy(whole, target, 4 * line * side, 4 * (line + 1) * side);
    }
  }
  return whole;
}
