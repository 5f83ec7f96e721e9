import type { MosaicRequest, MosaicResponse } from "../../src/hosts/messages.js";
import { sharp } from "./vips.js";

/** Puts images of a raster service together. */

/** Pixels a side of an image: those of a WMS are as large as a metatile. */
const maxSide = 4_096;
/** Of all images together. */
const maxPixels = 64 * 1024 ** 2;

/** Images that cannot be read are left out; when none can be read, that is the answer. */
export async function mosaic({
  pieces,
  columns,
  left,
  top,
  side,
  pixels,
}: MosaicRequest): Promise<MosaicResponse> {
  const widths: number[] = [];
  for (const bytes of pieces) {
    const width = bytes && (await widthOf(bytes));
    if (width) widths.push(width);
  }
  // That of most, as one of them may be anything.
  const known = widths.sort((one, other) => one - other)[widths.length >> 1];
  if (known === undefined) return { ok: false };
  if ((known * columns) ** 2 > maxPixels) return { ok: false, isTooLarge: true };
  const decoded: (Buffer | undefined)[] = [];
  for (const bytes of pieces) decoded.push(bytes ? await decode(bytes, known) : undefined);
  if (decoded.every((piece) => piece === undefined)) return { ok: false };
  const whole = assembled(decoded, columns, known);
  const width = known * columns;
  // Below a pixel of the service, one colour fills the area.
  const size = Math.max(1, Math.round(side * known));
  const offset = (images: number) => Math.min(width - size, Math.floor(images * known + 1e-6));
  const unread = [...pieces.keys()].filter((index) => pieces[index] && !decoded[index]);
  if (size === pixels && size === width) return { ok: true, pixels: whole, unread };
  const result = await sharp(whole, { raw: { width, height: width, channels: 4 } })
    .extract({ left: offset(left), top: offset(top), width: size, height: size })
    .resize(pixels, pixels, { fit: "fill", kernel: size < pixels ? "linear" : "lanczos3" })
    .raw()
    .toBuffer();
  return { ok: true, pixels: result, unread };
}

const open = (bytes: Uint8Array) =>
  sharp(bytes, { limitInputPixels: maxSide ** 2, failOn: "error", pages: 1 });

/** Pixels; undefined when it is no image, or too large. */
async function widthOf(bytes: Uint8Array): Promise<number | undefined> {
  try {
    const { width, height } = await open(bytes).metadata();
    return Math.max(width, height) > maxSide ? undefined : width;
  } catch {
    return undefined;
  }
}

/** RGBA of an image as a square of this size; undefined when it cannot be read. */
async function decode(bytes: Uint8Array, side: number): Promise<Buffer | undefined> {
  try {
    const source = open(bytes);
    const { width, height } = await source.metadata();
    if (Math.max(width, height) > maxSide) return undefined;
    const sized = width === side && height === side ? source : source.resize(side, side, { fit: "fill" });
    const data = await sized.toColourspace("srgb").ensureAlpha().raw({ depth: "uchar" }).toBuffer();
    return data.length === 4 * side * side ? data : undefined;
  } catch {
    return undefined;
  }
}

function assembled(pieces: readonly (Buffer | undefined)[], columns: number, side: number): Buffer {
  const only = pieces[0];
  if (columns === 1 && only) return only;
  const whole = Buffer.alloc(4 * (columns * side) ** 2);
  for (const [index, piece] of pieces.entries()) {
    if (!piece) continue;
    const [column, row] = [index % columns, Math.floor(index / columns)];
    for (let line = 0; line < side; line++) {
      const target = 4 * ((row * side + line) * columns * side + column * side);
      piece.copy(whole, target, 4 * line * side, 4 * (line + 1) * side);
    }
  }
  return whole;
}
