import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  maxPictureArchiveBytes,
  maxPictureBytes,
  type PicturesRequest,
  type PicturesResponse,
  type SafePicture,
} from "../../src/hosts/messages.js";
import { isPicturePath } from "../../src/style/picture-path.js";
import { Refusal } from "../transfer/refusal.js";
import { ByteBudget, ZipArchive } from "../transfer/zip-archive.js";
import { maxPictureSide, sanitizeSvg } from "./svg/sanitize.js";
import { SvgRefusal } from "./svg/tree.js";
import { sharp } from "./vips.js";

/** Pictures for styles: each is read and written anew, so that nothing of the file that was sent is drawn from. */

const maxPictures = 5_000;

/** A picture is refused. The message is a sentence for its author. */
class PictureRefusal extends Error {}

export async function pictures(request: PicturesRequest): Promise<PicturesResponse> {
  const { path, name, folder } = request;
  if (name === undefined) return archived(path, folder);
  const refused: Record<string, string> = {};
  const picture = await attempt(refused, name, () => safePicture(path, name, join(folder, "0")));
  return { ok: true, pictures: picture ? [picture] : [], refused };
}

async function archived(path: string, folder: string): Promise<PicturesResponse> {
  const found: SafePicture[] = [];
  const refused: Record<string, string> = {};
  const unpacked = join(folder, "unpacked");
  try {
    await ZipArchive.use(path, new ByteBudget(maxPictureArchiveBytes), async (archive) => {
      for (const file of archive.files) {
        const name = file.name.normalize();
        // Such as notes, licences, and what systems add of their own.
        if (!/\.(?:png|svg|webp)$/i.test(name) || /(?:^|\/)(?:\.|__MACOSX\/)/.test(name)) continue;
        const picture = await attempt(refused, name, async () => {
          if (!isPicturePath(name))
            throw new PictureRefusal("Its name has characters that paths cannot have.");
          if (found.length >= maxPictures)
            throw new PictureRefusal(`The archive has more than ${maxPictures} pictures.`);
          const chunks: Buffer[] = [];
          let bytes = 0;
          for await (const chunk of archive.read(file)) {
            bytes += chunk.length;
            if (bytes > maxPictureBytes)
              throw new PictureRefusal(`It is larger than ${maxPictureBytes / 1024 ** 2} MB.`);
            chunks.push(chunk);
          }
          await writeFile(unpacked, Buffer.concat(chunks));
          return safePicture(unpacked, name, join(folder, String(found.length)));
        });
        if (picture) found.push(picture);
      }
    });
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.message };
    throw error;
  }
  return { ok: true, pictures: found, refused };
}

/** What a message has room for. */
const maxRefused = 100;

async function attempt(
  refused: Record<string, string>,
  name: string,
  make: () => Promise<SafePicture>,
): Promise<SafePicture | undefined> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof PictureRefusal || error instanceof SvgRefusal)) throw error;
    if (Object.keys(refused).length < maxRefused) refused[name] = error.message;
    return undefined;
  }
}

/** @throws PictureRefusal, SvgRefusal */
async function safePicture(source: string, path: string, file: string): Promise<SafePicture> {
  const isSvg = /\.svg$/i.test(path);
  const { content, width, height } = isSvg ? await safeSvg(source) : await safeBitmap(source);
  await writeFile(file, content);
  return {
    path,
    file,
    format: isSvg ? "svg" : "png",
    width,
    height,
    bytes: content.length,
    digest: createHash("sha256").update(content).digest("hex"),
  };
}

interface Content {
  readonly content: Buffer;
  readonly width: number;
  readonly height: number;
}

async function safeSvg(source: string): Promise<Content> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(source));
  } catch {
    throw new PictureRefusal("It is not written in UTF-8.");
  }
  const safe = sanitizeSvg(text);
  return { content: Buffer.from(safe.text), width: safe.width, height: safe.height };
}

/** PNG and WebP as PNG, of an animation the first frame. */
async function safeBitmap(source: string): Promise<Content> {
  const image = sharp(source, { limitInputPixels: maxPictureSide ** 2, failOn: "error", pages: 1 });
  try {
    const { format } = await image.metadata();
    if (format !== "png" && format !== "webp") throw new PictureRefusal("It is neither PNG nor WebP.");
    const { data, info } = await image
      .toColourspace("srgb")
      .png({ compressionLevel: 9 })
      .toBuffer({ resolveWithObject: true });
    if (info.width > maxPictureSide || info.height > maxPictureSide) throw tooManyPixels();
    return { content: data, width: info.width, height: info.height };
  } catch (error) {
    if (error instanceof PictureRefusal) throw error;
    if (/pixel limit/i.test((error as Error).message)) throw tooManyPixels();
    throw new PictureRefusal("It is damaged, or no picture of the kind that its name says.");
  }
}

const tooManyPixels = (): PictureRefusal =>
  new PictureRefusal(`It is larger than ${maxPictureSide} × ${maxPictureSide} pixels.`);
