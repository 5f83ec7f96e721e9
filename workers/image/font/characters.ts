import { damaged, FontRefusal } from "./sfnt.js";

/** Which glyph stands for which character (`cmap`), read from the largest table for Unicode and written as one. */

/** Platform and encoding, the best first. */
const wanted = ["3/10", "0/6", "0/4", "3/1", "0/3", "0/2", "0/1", "0/0", "3/0"];
const greatest = 0x10ffff;

/** Characters in a row that have glyphs in a row. */
interface Run {
  readonly first: number;
  last: number;
  readonly glyph: number;
}

/** @throws FontRefusal, RangeError where the table ends early */
export function rewriteCharacters(table: Buffer, glyphs: number): Buffer {
  const found = new Map<string, number>();
  const count = Math.min(table.readUInt16BE(2), 64);
  for (let index = 0; index < count; index++) {
    const at = 4 + 8 * index;
    found.set(`${table.readUInt16BE(at)}/${table.readUInt16BE(at + 2)}`, table.readUInt32BE(at + 4));
  }
  const best = wanted.find((key) => found.has(key));
  if (best === undefined) throw new FontRefusal("It does not say which characters its glyphs are.");
  const runs = new Runs(glyphs);
  const at = found.get(best)!;
  switch (table.readUInt16BE(at)) {
    case 4:
      readSegments(table, at, runs);
      break;
    case 6:
      for (let index = 0; index < table.readUInt16BE(at + 8); index++)
        runs.add(table.readUInt16BE(at + 6) + index, table.readUInt16BE(at + 10 + 2 * index));
      break;
    case 12:
      readGroups(table, at, runs);
      break;
    default:
      throw damaged("cmap");
  }
  if (runs.all.length === 0) throw new FontRefusal("It has no characters.");
  return write(runs.all);
}

class Runs {
  readonly all: Run[] = [];

  constructor(private readonly glyphs: number) {}

  add(character: number, glyph: number): void {
    if (glyph === 0) return;
    const last = this.all.at(-1);
    if (glyph >= this.glyphs || character > greatest || (last && character <= last.last))
      throw damaged("cmap");
    if (last && character === last.last + 1 && glyph === last.glyph + character - last.first) last.last++;
    else this.all.push({ first: character, last: character, glyph });
  }
}

function readSegments(table: Buffer, at: number, runs: Runs): void {
  const segments = table.readUInt16BE(at + 6) / 2;
  const ends = at + 14;
  const starts = ends + 2 * segments + 2;
  const deltas = starts + 2 * segments;
  const offsets = deltas + 2 * segments;
  for (let index = 0; index < segments; index++) {
    const end = table.readUInt16BE(ends + 2 * index);
    const start = table.readUInt16BE(starts + 2 * index);
    if (start > end) throw damaged("cmap");
    const delta = table.readUInt16BE(deltas + 2 * index);
    const place = offsets + 2 * index;
    const offset = table.readUInt16BE(place);
    for (let character = start; character <= end; character++) {
      // The end of the list, which no character has.
      if (character === 0xffff) break;
      let glyph = character;
      if (offset !== 0) {
        glyph = table.readUInt16BE(place + offset + 2 * (character - start));
        if (glyph === 0) continue;
      }
      runs.add(character, (glyph + delta) & 0xffff);
    }
  }
}

function readGroups(table: Buffer, at: number, runs: Runs): void {
  const groups = table.readUInt32BE(at + 12);
  for (let index = 0; index < groups; index++) {
    const place = at + 16 + 12 * index;
    const first = table.readUInt32BE(place);
    const last = table.readUInt32BE(place + 4);
    const glyph = table.readUInt32BE(place + 8);
    // Characters are told in ascending order, so that all groups together have no more than there are.
    if (last < first || last > greatest) throw damaged("cmap");
    for (let character = first; character <= last; character++)
      runs.add(character, glyph + character - first);
  }
}

function write(runs: readonly Run[]): Buffer {
  const table = Buffer.alloc(12 + 16 + 12 * runs.length);
  table.writeUInt16BE(1, 2);
  table.writeUInt16BE(3, 4);
  table.writeUInt16BE(10, 6);
  table.writeUInt32BE(12, 8);
  table.writeUInt16BE(12, 12);
  table.writeUInt32BE(16 + 12 * runs.length, 16);
  table.writeUInt32BE(runs.length, 24);
  for (const [index, { first, last, glyph }] of runs.entries()) {
    table.writeUInt32BE(first, 28 + 12 * index);
    table.writeUInt32BE(last, 32 + 12 * index);
    table.writeUInt32BE(glyph, 36 + 12 * index);
  }
  return table;
}
