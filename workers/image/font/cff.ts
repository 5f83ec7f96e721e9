import { Charstrings } from "./charstring.js";
import { damaged, FontRefusal, slice } from "./sfnt.js";

/** Checks the table `CFF ` of an OpenType font: its lists, and the programs of its glyphs. */

const name = "CFF";
/** Levels of operators in dictionaries: 12 x is 1200 + x. */
const charstringType = 1206;
const fontMatrix = 1207;
const rosNames = 1230;
const fontArray = 1236;
const fontSelect = 1237;
const charset = 15;
const charstrings = 17;
const privateDict = 18;
const subroutines = 19;

interface List {
  readonly items: readonly Buffer[];
  /** Where it ends in the table. */
  readonly end: number;
}

/** @throws FontRefusal, RangeError where the table ends early */
export function checkCff(
  table: Buffer,
  { glyphs, unitsPerEm }: { glyphs: number; unitsPerEm: number },
): void {
  if (table.readUInt8(0) !== 1) throw damaged(name);
  const names = readList(table, table.readUInt8(2));
  const tops = readList(table, names.end);
  const strings = readList(table, tops.end);
  const global = readList(table, strings.end).items;
  if (names.items.length !== 1 || tops.items.length !== 1) throw damaged(name);
  const top = readDict(tops.items[0]!);
  if ((top.get(charstringType)?.[0] ?? 2) !== 2) throw damaged(name);
  checkMatrix(top, unitsPerEm, unitsPerEm === 1_000);
  const programs = readList(table, required(top, charstrings)).items;
  if (programs.length !== glyphs) throw damaged(name);
  slice(table, top.get(charset)?.[0] ?? 0, 1, name);
  const fonts = top.has(rosNames) ? readList(table, required(top, fontArray)).items.map(readDict) : [top];
  const locals = fonts.map((font) => localSubroutines(table, font));
  if (top.has(rosNames)) for (const font of fonts) checkMatrix(font, unitsPerEm, true, true);
  const fontOf = top.has(rosNames) ? readSelect(table, required(top, fontSelect), glyphs) : undefined;
  const checked = new Charstrings(unitsPerEm);
  for (const [glyph, program] of programs.entries()) {
    const local = locals[fontOf?.[glyph] ?? 0];
    if (!local) throw damaged(name);
    checked.check(program, { global, local });
  }
}

type Dict = ReadonlyMap<number, readonly number[]>;

function required(dict: Dict, operator: number): number {
  const value = dict.get(operator)?.[0];
  if (value === undefined || !Number.isInteger(value)) throw damaged(name);
  return value;
}

/** Glyphs have the size that their units say, so that their extent is known. */
function checkMatrix(dict: Dict, unitsPerEm: number, mayLack: boolean, mayBeOne = false): void {
  const matrix = dict.get(fontMatrix);
  if (!matrix && mayLack) return;
  const [a, b, c, d, x, y] = matrix ?? [];
  const isScale = matrix?.length === 6 && b === 0 && c === 0 && x === 0 && y === 0;
  const isOne = mayBeOne && a === 1 && d === 1;
  const isUnit = [a, d].every((scale) => Math.abs((scale ?? 0) * unitsPerEm - 1) < 0.01);
  if (!isScale || !(isOne || isUnit)) throw new FontRefusal("Its outlines have another size than it says.");
}

function localSubroutines(table: Buffer, font: Dict): readonly Buffer[] {
  const [size, offset] = font.get(privateDict) ?? [];
  if (size === undefined || offset === undefined) return [];
  const own = readDict(slice(table, offset, size, name)).get(subroutines)?.[0];
  return own === undefined ? [] : readList(table, offset + own).items;
}

/** An INDEX. */
function readList(table: Buffer, at: number): List {
  const count = table.readUInt16BE(at);
  if (count === 0) return { items: [], end: at + 2 };
  const size = table.readUInt8(at + 2);
  if (size < 1 || size > 4) throw damaged(name);
  const start = at + 3;
  const base = start + size * (count + 1) - 1;
  const items: Buffer[] = [];
  let from = table.readUIntBE(start, size);
  if (from !== 1) throw damaged(name);
  for (let index = 1; index <= count; index++) {
    const to = table.readUIntBE(start + size * index, size);
    items.push(slice(table, base + from, to - from, name));
    from = to;
  }
  return { items, end: base + from };
}

const maxOperands = 513;

/** Operands by operator. */
function readDict(bytes: Buffer): Dict {
  const found = new Map<number, readonly number[]>();
  let operands: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const code = bytes[at++]!;
    if (code <= 21) {
      found.set(code === 12 ? 1_200 + bytes.readUInt8(at++) : code, operands);
      operands = [];
    } else if (code === 28) {
      operands.push(bytes.readInt16BE(at));
      at += 2;
    } else if (code === 29) {
      operands.push(bytes.readInt32BE(at));
      at += 4;
    } else if (code === 30) {
      const { value, end } = readReal(bytes, at);
      operands.push(value);
      at = end;
    } else if (code >= 32 && code <= 246) operands.push(code - 139);
    else if (code >= 247 && code <= 250) operands.push((code - 247) * 256 + bytes.readUInt8(at++) + 108);
    else if (code >= 251 && code <= 254) operands.push(-(code - 251) * 256 - bytes.readUInt8(at++) - 108);
    else throw damaged(name);
    if (operands.length > maxOperands) throw damaged(name);
  }
  return found;
}

const nibbles = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "e", "e-", "", "-"];

function readReal(bytes: Buffer, start: number): { value: number; end: number } {
  let text = "";
  for (let at = start; text.length < 64; at++) {
    const byte = bytes.readUInt8(at);
    for (const nibble of [byte >> 4, byte & 15]) {
      if (nibble === 15) return { value: Number(text), end: at + 1 };
      text += nibbles[nibble];
    }
  }
  throw damaged(name);
}

/** Which of the fonts in a font each glyph is of. */
function readSelect(table: Buffer, at: number, glyphs: number): Uint8Array {
  const selected = new Uint8Array(glyphs);
  const format = table.readUInt8(at);
  if (format === 0) {
    selected.set(slice(table, at + 1, glyphs, name));
    return selected;
  }
  if (format !== 3) throw damaged(name);
  const ranges = table.readUInt16BE(at + 1);
  let from = table.readUInt16BE(at + 3);
  if (from !== 0) throw damaged(name);
  for (let index = 0; index < ranges; index++) {
    const font = table.readUInt8(at + 5 + 3 * index);
    const to = table.readUInt16BE(at + 6 + 3 * index);
    if (to <= from || to > glyphs) throw damaged(name);
    selected.fill(font, from, to);
    from = to;
  }
  if (from !== glyphs) throw damaged(name);
  return selected;
}
