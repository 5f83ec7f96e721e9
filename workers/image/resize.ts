import { readFile, stat } from "node:fs/promises";
import type { Metadata, Sharp } from "sharp";
import type { PictureFormat, ResizeRequest, ResizeResponse } from "../../src/hosts/messages.js";
import { sharp } from "./vips.js";

/** Images in other sizes and formats. Of an animation the first frame is taken. */

const maxSourcePixels = 100_000_000;
const maxResultPixels = 50_000_000;
/** WebP allows 16 383 pixels a side. All formats have the same limit. */
const maxSide = 16_000;
const clear = { r: 0, g: 0, b: 0, alpha: 0 };
const white = { r: 255, g: 255, b: 255, alpha: 1 };

interface Size {
  readonly width: number;
  readonly height: number;
}

export async function resize(request: ResizeRequest): Promise<ResizeResponse> {
  const source = sharp(request.path, { limitInputPixels: maxSourcePixels, failOn: "error", pages: 1 });
  try {
    const metadata = await source.metadata();
    const own = metadata.format as PictureFormat;
    const size = metadata.autoOrient;
    if (size.width * size.height > maxSourcePixels) return { ok: false, reason: "source_too_large" };
    const result = resultSize(size, request);
    if (Math.max(result.width, result.height) > maxSide || result.width * result.height > maxResultPixels) {
      return { ok: false, reason: "result_too_large" };
    }
    const format = request.format ?? own;
    const bytes = await encode(fitted(source.autoOrient(), size, result, request), format).toBuffer();
    const isUnchanged = format === own && result.width === size.width && result.height === size.height;
    const isSmaller = isUnchanged && showsAsItIs(metadata) && (await stat(request.path)).size < bytes.length;
    return { ok: true, bytes: isSmaller ? await readFile(request.path) : bytes, format };
  } catch (error) {
    const large = /pixel limit/i.test((error as Error).message);
    return { ok: false, reason: large ? "source_too_large" : "unreadable" };
  }
}

/** Whether browsers show the file as the picture that is made of it: upright, in common colours and without motion. */
const showsAsItIs = ({ orientation = 1, space, pages = 1 }: Metadata): boolean =>
  orientation === 1 && space === "srgb" && pages === 1;

function resultSize(source: Size, { width, height, shrinkOnly, fit }: ResizeRequest): Size {
  const ratio = source.width / source.height;
  const side = (pixels: number) => Math.max(1, Math.round(pixels));
  if (width !== undefined && height !== undefined) {
    if (fit !== "inside") return { width, height };
    const scale = Math.min(1, width / source.width, height / source.height);
    return { width: side(source.width * scale), height: side(source.height * scale) };
  }
  if (shrinkOnly && source.width <= (width ?? Infinity) && source.height <= (height ?? Infinity))
    return source;
  if (width !== undefined) return { width, height: side(width / ratio) };
  if (height !== undefined) return { width: side(height * ratio), height };
  return source;
}

function fitted(picture: Sharp, source: Size, result: Size, request: ResizeRequest): Sharp {
  const { width, height } = result;
  const box = request.width !== undefined && request.height !== undefined;
  const fit = box && request.fit !== "inside" ? request.fit : "fill";
  const fits = source.width <= width && source.height <= height;
  if (fit === "none" || (fit === "scale-down" && fits)) return centredImage(picture, source, result);
  if (fit === "cover") return picture.resize(width, height, { fit });
  if (fit === "fill") return picture.resize(width, height, { fit });
  return picture.resize(width, height, { fit: "contain", background: clear });
}

/** The image at its own size in the middle of a box, cropped to the box. */
function centredImage(picture: Sharp, source: Size, box: Size): Sharp {
  const width = Math.min(source.width, box.width);
  const height = Math.min(source.height, box.height);
  const left = Math.floor((box.width - width) / 2);
  const top = Math.floor((box.height - height) / 2);
  return picture
    .extract({
      left: Math.floor((source.width - width) / 2),
      top: Math.floor((source.height - height) / 2),
      width,
      height,
    })
    .extend({
      left,
      top,
      right: box.width - width - left,
      bottom: box.height - height - top,
      background: clear,
    });
}

function encode(picture: Sharp, format: PictureFormat): Sharp {
  const plain = picture.toColourspace("srgb");
  switch (format) {
    case "png":
      return plain.png();
    case "jpeg":
      return plain.flatten({ background: white }).jpeg({ quality: 85 });
    case "gif":
      return plain.gif();
    case "webp":
      return plain.webp({ quality: 85 });
  }
}
