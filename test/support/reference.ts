import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";

/**
 * Pictures compared with those in `test/fixtures/reference`. After a change that is meant to change them:
 * `UPDATE_REFERENCE=1 npm test -- reference`, and a look at each, as `npm run gallery` shows them.
 */

const references = join(process.cwd(), "test/fixtures/reference");

/** Pixels whose channels differ by more than this are counted. */
const tolerance = 8;
/** So many of a thousand may differ, as fonts and rounding differ a little between machines. */
export const mostDiffering = 1;

/** RGBA. */
export interface Drawn {
  readonly pixels: Buffer;
  readonly width: number;
  readonly height: number;
}

/** How many of a thousand pixels differ. */
export function differing(one: Buffer, other: Buffer): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY;
  let count = 0;
  for (let at = 0; at < one.length; at += 4) if (differenceAt(one, other, at) > tolerance) count++;
  return (count / (one.length / 4)) * 1_000;
}

function differenceAt(one: Buffer, other: Buffer, at: number): number {
  const [alpha, otherAlpha] = [one[at + 3]! / 255, other[at + 3]! / 255];
  const channels = [0, 1, 2].map((c) => Math.abs(one[at + c]! * alpha - other[at + c]! * otherAlpha));
  return Math.max(...channels, Math.abs(one[at + 3]! - other[at + 3]!));
}

/** Compares a picture with the reference of that name; in a gallery both are written, with what differs. */
export async function differsFromReference(name: string, { pixels, width, height }: Drawn): Promise<number> {
  const file = join(references, `${name}.png`);
  const raw = { width, height, channels: 4 as const };
  const png = () => sharp(pixels, { raw }).png({ compressionLevel: 9 }).toBuffer();
  if (process.env.UPDATE_REFERENCE) {
    mkdirSync(references, { recursive: true });
    writeFileSync(file, await png());
  }
  const known = existsSync(file) ? await sharp(readFileSync(file)).ensureAlpha().raw().toBuffer() : undefined;
  const permille = known ? differing(pixels, known) : Number.POSITIVE_INFINITY;
  const { GALLERY: gallery } = process.env;
  if (gallery) {
    const put = (suffix: string, bytes: Buffer) =>
      writeFileSync(join(gallery, `${name}${suffix}.png`), bytes);
    put(".drawn", await png());
    if (known) put(".reference", readFileSync(file));
    if (known?.length === pixels.length) put(".difference", await difference(pixels, known, raw));
  }
  return permille;
}

/** Black where both are the same, red where they differ by more than is tolerated. */
function difference(
  one: Buffer,
  other: Buffer,
  raw: { width: number; height: number; channels: 4 },
): Promise<Buffer> {
  const shown = Buffer.alloc(one.length, 255);
  for (let at = 0; at < one.length; at += 4) {
    const found = differenceAt(one, other, at);
    shown.set(found > tolerance ? [255, 0, 0, 255] : [found * 8, found * 8, found * 8, 255], at);
  }
  return sharp(shown, { raw }).png().toBuffer();
}
