import type { Step } from "./outlines.js";
import { FontRefusal } from "./sfnt.js";

/**
 * Writes the table `CFF ` of OpenType fonts from their outlines. Its glyphs are programs (Type 2 charstrings), which renderers
 * do not all run alike: FreeType computes, and scales all of them by a matrix, where HarfBuzz does not. So none of a file are kept.
 */

const [moveTo, lineTo, curveTo, end] = [21, 5, 8, 14];

/** @param outlines of all glyphs, in cubic curves */
export function writeCff(outlines: Iterable<readonly Step[]>): Buffer {
  const programs = Array.from(outlines, programOf);
  const start = Buffer.concat([Buffer.from([1, 0, 4, 4]), list([Buffer.from("_")])]);
  // That of all glyphs but the first have names from 1 on, which are not there.
  const charset = Buffer.from([2, 0, 1, 0, 0]);
  charset.writeUInt16BE(Math.max(programs.length - 2, 0), 3);
  const topOf = (charsetAt: number) =>
    list([
      Buffer.concat([
        long(charsetAt),
        Buffer.from([15]),
        long(charsetAt + charset.length),
        Buffer.from([17]),
      ]),
    ]);
  const [strings, subroutines] = [list([]), list([])];
  const charsetAt = start.length + topOf(0).length + strings.length + subroutines.length;
  return Buffer.concat([start, topOf(charsetAt), strings, subroutines, charset, list(programs)]);
}

function programOf(steps: readonly Step[]): Buffer {
  const bytes: number[] = [];
  let [x, y] = [0, 0];
  for (const { isMove, to } of steps) {
    for (let at = 0; at < to.length; at += 2) {
      const [dx, dy] = [fixed(to[at]! - x), fixed(to[at + 1]! - y)];
      addNumber(bytes, dx);
      addNumber(bytes, dy);
      [x, y] = [x + dx, y + dy];
    }
    bytes.push(isMove ? moveTo : to.length === 2 ? lineTo : curveTo);
  }
  return Buffer.from([...bytes, end]);
}

const fixed = (value: number): number => Math.round(value * 65_536) / 65_536;

/** A number in programs: of one to three bytes when it is whole, else of five. */
function addNumber(bytes: number[], value: number): void {
  const size = Math.abs(value);
  if (size >= 32_768) throw new FontRefusal("One of its glyphs is too large.");
  if (!Number.isInteger(value)) {
    const all = value * 65_536;
    bytes.push(255, all >> 24, all >> 16, all >> 8, all);
  } else if (size <= 107) bytes.push(value + 139);
  else if (size <= 1_131) bytes.push((value > 0 ? 247 : 251) + ((size - 108) >> 8), size - 108);
  else bytes.push(28, value >> 8, value);
}

/** A number in dictionaries. */
function long(value: number): Buffer {
  const bytes = Buffer.from([29, 0, 0, 0, 0]);
  bytes.writeInt32BE(value, 1);
  return bytes;
}

/** An INDEX, with offsets of four bytes. */
function list(items: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(items.length === 0 ? 2 : 3 + 4 * (items.length + 1));
  header.writeUInt16BE(items.length);
  let offset = 1;
  for (const [index, { length }] of items.entries()) {
    if (index === 0) header.writeUInt32BE(offset, header.writeUInt8(4, 2));
    offset += length;
    header.writeUInt32BE(offset, 7 + 4 * index);
  }
  return Buffer.concat([header, ...items]);
}
