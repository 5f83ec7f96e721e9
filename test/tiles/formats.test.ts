import { createRequire } from "node:module";
import sharp from "sharp";
import t from "tap";
import { tileFormats } from "../../src/tiles/formats.js";

/** What the encodings of tiles leave of colours and transparency. */

interface Image {
  encodeSync(format: string): Buffer;
}
const mapnik = createRequire(import.meta.url)("mapnik") as {
  Image: { fromBufferSync(width: number, height: number, pixels: Buffer): Image };
};

const side = 256;
type Pixel = readonly [red: number, green: number, blue: number, alpha: number];

const pictures: Readonly<Record<string, (x: number, y: number) => Pixel>> = {
  "a gradient of two colours": (x, y) => [x, y, 128, 255],
  "a sky": (x, y) => [90 + x / 4, 140 + y / 4, 220, 255],
  "a colour that fades away": (x) => [200, 30, 30, x],
  "a glow": (x, y) => {
    const distance = Math.hypot(x - 128, y - 128);
    return [255 - distance / 2, distance, 60, Math.max(0, Math.min(255, 255 - (distance - 40) * 3))];
  },
  "a relief": (x, y) => {
    const light = 160 + 40 * Math.sin(x / 19) + 40 * Math.cos(y / 23 + x / 40);
    return [light, light * 0.9, light * 0.7, 255];
  },
};

function pixelsOf(picture: (x: number, y: number) => Pixel): Buffer {
  const pixels = Buffer.alloc(4 * side * side);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++)
      picture(x, y).forEach((value, channel) => {
        pixels[4 * (y * side + x) + channel] = Math.round(value);
      });
  return pixels;
}

/** Differences of what is seen: colours count as much as they are opaque. */
function differences(wanted: Buffer, found: Buffer): { mean: number; most: number } {
  let sum = 0;
  let most = 0;
  for (let at = 0; at < wanted.length; at++) {
    const alpha = at - (at % 4) + 3;
    const seen = (pixels: Buffer) => (at === alpha ? pixels[at]! : (pixels[at]! * pixels[alpha]!) / 255);
    const difference = Math.abs(seen(wanted) - seen(found));
    sum += difference;
    most = Math.max(most, difference);
  }
  return { mean: sum / wanted.length, most };
}

for (const format of tileFormats) {
  for (const quality of [0, 1] as const) {
    t.test(`${format.name} of quality ${quality} keeps gradients and transparency`, async (t) => {
      const isExact = quality === 0;
      for (const [name, picture] of Object.entries(pictures)) {
        const pixels = pixelsOf(picture);
        const image = mapnik.Image.fromBufferSync(side, side, Buffer.from(pixels));
        const encoded = image.encodeSync(format.mapnikEncodings[quality]);
        const decoded = await sharp(encoded).ensureAlpha().raw().toBuffer();
        const { mean, most } = differences(pixels, decoded);
        t.ok(mean <= (isExact ? 0 : 2.1), `${name}: ${mean} on average`);
        t.ok(most <= (isExact ? 0 : 8), `${name}: ${most} at most`);
      }
    });
  }
}
