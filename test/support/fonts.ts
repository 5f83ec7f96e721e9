import { readFileSync } from "node:fs";
import { readTables, writeFont } from "../../workers/image/font/sfnt.js";

/** Fonts for tests. */

export const dejaVu = (file: string): Buffer => readFileSync(`/usr/share/fonts/truetype/dejavu/${file}`);

/** The font with other tables; undefined takes one out. */
export function withTables(font: Buffer, changed: Readonly<Record<string, Buffer | undefined>>): Buffer {
  const tables = new Map(readTables(font));
  for (const [tag, table] of Object.entries(changed)) {
    if (table) tables.set(tag, table);
    else tables.delete(tag);
  }
  return writeFont(tables);
}

export const tableOf = (font: Buffer, tag: string): Buffer => Buffer.from(readTables(font).get(tag)!);

/** A table `name`, with family and style. */
export function names(family: string, style: string): Buffer {
  const texts = [family, style].map((text) => Buffer.from(text, "utf16le").swap16());
  const records = texts.map((text, index) =>
    numbers([3, 1, 0x409, index + 1, text.length, index === 0 ? 0 : texts[0]!.length]),
  );
  return Buffer.concat([numbers([0, 2, 6 + 24]), ...records, ...texts]);
}

/** Numbers of 16 bits. */
export function numbers(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, 2 * index);
  return bytes;
}

export interface Block {
  readonly family: string;
  readonly left?: number;
  readonly right?: number;
  /** Program of the glyph, in place of a rectangle's. */
  readonly program?: Buffer;
  readonly subroutines?: readonly Buffer[];
}

const unitsPerEm = 1_000;

/** An OpenType font with one character, "A": a rectangle as high as the font. */
export function blockFont({ family, left = 0, right = 1_000, program, subroutines = [] }: Block): Buffer {
  const head = Buffer.alloc(54);
  head.writeUInt32BE(0x00010000, 0);
  head.writeUInt32BE(0x5f0f3cf5, 12);
  head.writeUInt16BE(unitsPerEm, 18);
  const hhea = Buffer.alloc(36);
  hhea.writeUInt32BE(0x00010000, 0);
  hhea.writeInt16BE(unitsPerEm, 4);
  hhea.writeUInt16BE(2, 34);
  const cmap = numbers([0, 1, 3, 1, 0, 12, 4, 32, 0, 4, 4, 1, 0, 65, 0xffff, 0, 65, 0xffff, 1 - 65, 1, 0, 0]);
  const end = Buffer.from([14]);
  const block = Buffer.concat([
    ...[integer(left), integer(0), Buffer.from([21])],
    ...[integer(right - left), integer(1_000), integer(left - right), Buffer.from([6]), end],
  ]);
  return writeFont(
    new Map([
      ["head", head],
      ["hhea", hhea],
      ["hmtx", numbers([0, 0, unitsPerEm, left])],
      ["maxp", Buffer.concat([numbers([0, 0x5000]), numbers([2])])],
      ["cmap", cmap],
      ["name", names(family, "Regular")],
      ["CFF ", cff([end, program ?? block], subroutines)],
    ]),
  );
}

/** A number in programs of glyphs. */
export const integer = (value: number): Buffer => Buffer.concat([Buffer.from([28]), numbers([value])]);

function list(items: readonly Buffer[]): Buffer {
  if (items.length === 0) return numbers([0]);
  const offsets = Buffer.alloc(4 * (items.length + 1));
  let offset = 1;
  for (const [index, item] of items.entries()) {
    offsets.writeUInt32BE(offset, 4 * index);
    offset += item.length;
  }
  offsets.writeUInt32BE(offset, 4 * items.length);
  return Buffer.concat([numbers([items.length]), Buffer.from([4]), offsets, ...items]);
}

function cff(programs: readonly Buffer[], subroutines: readonly Buffer[]): Buffer {
  const long = (value: number): Buffer => {
    const bytes = Buffer.from([29, 0, 0, 0, 0]);
    bytes.writeInt32BE(value, 1);
    return bytes;
  };
  const topAt = (offset: number) => list([Buffer.concat([long(offset), Buffer.from([17])])]);
  const header = Buffer.concat([Buffer.from([1, 0, 4, 4]), list([Buffer.from("Block")])]);
  const rest = Buffer.concat([list([]), list(subroutines)]);
  const offset = header.length + topAt(0).length + rest.length;
  return Buffer.concat([header, topAt(offset), rest, list(programs)]);
}
