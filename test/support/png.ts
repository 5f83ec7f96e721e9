import { crc32, deflateSync } from "node:zlib";

/** PNG files made byte by byte, which may claim what is not true. */

/** A chunk with its length and checksum. */
export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** A PNG with 8-bit red, green and blue, whose header says this size. */
export function pngOf(
  width: number,
  height: number,
  /** `between` comes between header and pixels. */
  { between = Buffer.alloc(0), pixels }: { readonly between?: Uint8Array; readonly pixels?: Uint8Array } = {},
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    pngChunk("IHDR", header),
    between,
    pngChunk("IDAT", pixels ?? deflateSync(Buffer.alloc(height * (1 + 3 * width)))),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}
