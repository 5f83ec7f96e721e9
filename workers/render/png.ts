import type { IndexedRows, PlainRows } from "./png-rows.js";

/** Puts a PNG together. */

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** @param data the rows, compressed by zlib */
export function pngOf(kind: IndexedRows | PlainRows, data: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(kind.width, 0);
  header.writeUInt32BE(kind.height, 4);
  header[8] = kind.depth;
  header[9] = kind.colorType;
  return Buffer.concat([
    Buffer.from(signature),
    chunk("IHDR", header),
    ...("palette" in kind ? [chunk("PLTE", kind.palette)] : []),
    ...("alphas" in kind && kind.alphas.length > 0 ? [chunk("tRNS", kind.alphas)] : []),
    chunk("IDAT", data),
    chunk("IEND", new Uint8Array()),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, "latin1");
  whole.set(data, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, -4)), whole.length - 4);
  return whole;
}

/** What is left of each byte after eight steps of the division. */
const remainders = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ 0xedb88320;
  return rest;
});

/** That of zlib, which not all versions of Node.js have by itself. */
function crc32(bytes: Uint8Array): number {
  let rest = 0xffff_ffff;
  for (const byte of bytes) rest = remainders[(rest ^ byte) & 255]! ^ (rest >>> 8);
  return (rest ^ 0xffff_ffff) >>> 0;
}
