import { checkExtent, type Extent, emptyExtent, extend } from "./extent.js";
import { damaged, FontRefusal, slice } from "./sfnt.js";

/** Glyphs of TrueType fonts (`glyf`, `loca`), written anew without their programs. */

export interface Glyphs {
  readonly glyf: Buffer;
  /** Offsets of 4 bytes. */
  readonly loca: Buffer;
  /** Of all glyphs, as `maxp` has them. */
  readonly most: Most;
}

interface Most {
  points: number;
  contours: number;
  compositePoints: number;
  compositeContours: number;
  components: number;
  depth: number;
}

export interface GlyphTables {
  readonly glyf: Buffer;
  readonly loca: Buffer;
  readonly hasLongOffsets: boolean;
  readonly glyphs: number;
  readonly unitsPerEm: number;
}

/** Of one glyph with all that it is put together from. FreeType counts points in 16 bits. */
const maxPoints = 32_000;
const maxComponents = 2_000;
const maxDepth = 8;

interface Component {
  readonly glyph: number;
  /** x' = a x + c y + dx, y' = b x + d y + dy */
  readonly matrix: readonly [a: number, b: number, c: number, d: number];
  readonly dx: number;
  readonly dy: number;
}

interface Glyph {
  readonly bytes: Buffer;
  readonly points: number;
  readonly contours: number;
  readonly extent: Extent;
  readonly components: readonly Component[];
}

const noBytes = Buffer.alloc(0);

/** @throws FontRefusal, RangeError where a table ends early */
export function rewriteGlyphs(tables: GlyphTables): Glyphs {
  const glyphs: Glyph[] = [];
  for (let index = 0; index < tables.glyphs; index++) glyphs.push(readGlyph(glyphBytes(tables, index)));
  const most = measure(glyphs, tables.unitsPerEm);
  const loca = Buffer.alloc(4 * (glyphs.length + 1));
  const parts: Buffer[] = [];
  let offset = 0;
  for (const [index, { bytes }] of glyphs.entries()) {
    loca.writeUInt32BE(offset, 4 * index);
    const padding = -bytes.length & 3;
    parts.push(bytes, Buffer.alloc(padding));
    offset += bytes.length + padding;
  }
  loca.writeUInt32BE(offset, 4 * glyphs.length);
  return { glyf: Buffer.concat(parts), loca, most };
}

function glyphBytes({ glyf, loca, hasLongOffsets }: GlyphTables, index: number): Buffer {
  const offset = (at: number) => (hasLongOffsets ? loca.readUInt32BE(4 * at) : 2 * loca.readUInt16BE(2 * at));
  const start = offset(index);
  return slice(glyf, start, offset(index + 1) - start, "loca");
}

function readGlyph(bytes: Buffer): Glyph {
  const contours = bytes.length === 0 ? 0 : bytes.readInt16BE(0);
  if (contours === 0) return { bytes: noBytes, points: 0, contours, extent: emptyExtent(), components: [] };
  return contours > 0 ? readSimple(bytes, contours) : readComposite(bytes);
}

const onlyHeader = 10;
const isShortX = 0x02;
const isShortY = 0x04;
const isRepeated = 0x08;
/** Of a short coordinate its sign, else that it is as the last one. */
const [isSameX, isSameY] = [0x10, 0x20];

function readSimple(bytes: Buffer, contours: number): Glyph {
  const ends = onlyHeader + 2 * contours;
  let last = -1;
  for (let at = onlyHeader; at < ends; at += 2) {
    const end = bytes.readUInt16BE(at);
    if (end < last || (end === last && at > onlyHeader)) throw damaged("glyf");
    last = end;
  }
  const points = last + 1;
  if (points > maxPoints) throw damaged("glyf");
  const start = ends + 2 + bytes.readUInt16BE(ends);
  const flags: number[] = [];
  let at = start;
  while (flags.length < points) {
    const flag = bytes.readUInt8(at++);
    const repeats = flag & isRepeated ? bytes.readUInt8(at++) : 0;
    if (flags.length + repeats >= points) throw damaged("glyf");
    for (let count = 0; count <= repeats; count++) flags.push(flag);
  }
  const coordinates = (short: number, same: number): number[] => {
    let value = 0;
    return flags.map((flag) => {
      if (flag & short) {
        const step = bytes.readUInt8(at++);
        value += flag & same ? step : -step;
      } else if (!(flag & same)) {
        value += bytes.readInt16BE(at);
        at += 2;
      }
      return value;
    });
  };
  const xs = coordinates(isShortX, isSameX);
  const ys = coordinates(isShortY, isSameY);
  const extent = emptyExtent();
  for (const [index, x] of xs.entries()) extend(extent, x, ys[index]!);
  const noProgram = Buffer.alloc(2);
  const kept = Buffer.concat([bytes.subarray(0, ends), noProgram, bytes.subarray(start, at)]);
  return { bytes: kept, points, contours, extent, components: [] };
}

const hasWords = 0x0001;
const hasOffsets = 0x0002;
const hasScale = 0x0008;
const hasMore = 0x0020;
const hasTwoScales = 0x0040;
const hasMatrix = 0x0080;
const hasProgram = 0x0100;
const scalesOffsets = 0x0800;

function readComposite(bytes: Buffer): Glyph {
  const components: Component[] = [];
  const kept = Buffer.from(bytes);
  let at = onlyHeader;
  let flags: number;
  do {
    flags = bytes.readUInt16BE(at);
    kept.writeUInt16BE(flags & ~hasProgram, at);
    if (!(flags & hasOffsets)) throw new FontRefusal("It puts glyphs together by their points.");
    const glyph = bytes.readUInt16BE(at + 2);
    at += 4;
    const [dx, dy] = flags & hasWords ? words(bytes, at) : [bytes.readInt8(at), bytes.readInt8(at + 1)];
    at += flags & hasWords ? 4 : 2;
    const scale = (index: number) => bytes.readInt16BE(at + 2 * index) / 16_384;
    let matrix: Component["matrix"] = [1, 0, 0, 1];
    if (flags & hasScale) {
      matrix = [scale(0), 0, 0, scale(0)];
      at += 2;
    } else if (flags & hasTwoScales) {
      matrix = [scale(0), 0, 0, scale(1)];
      at += 4;
    } else if (flags & hasMatrix) {
      matrix = [scale(0), scale(1), scale(2), scale(3)];
      at += 8;
    }
    const growth = flags & scalesOffsets ? Math.max(1, ...matrix.map(Math.abs)) : 1;
    components.push({ glyph, matrix, dx: dx * growth, dy: dy * growth });
    if (components.length > maxComponents) throw damaged("glyf");
  } while (flags & hasMore);
  return { bytes: kept.subarray(0, at), points: 0, contours: 0, extent: emptyExtent(), components };
}

const words = (bytes: Buffer, at: number): [number, number] => [
  bytes.readInt16BE(at),
  bytes.readInt16BE(at + 2),
];

/** A glyph with all that it is put together from. */
interface Whole {
  readonly points: number;
  readonly contours: number;
  readonly components: number;
  readonly depth: number;
  readonly extent: Extent;
}

/** @throws FontRefusal when glyphs are put together in circles, of too many parts or too large */
function measure(glyphs: readonly Glyph[], unitsPerEm: number): Most {
  const most: Most = {
    points: 0,
    contours: 0,
    compositePoints: 0,
    compositeContours: 0,
    components: 0,
    depth: 0,
  };
  const known = new Map<number, Whole>();
  const whole = (index: number, level: number): Whole => {
    const found = known.get(index);
    if (found) return found;
    const glyph = glyphs[index];
    if (!glyph || level > maxDepth) throw damaged("glyf");
    const { components, extent } = glyph;
    let { points, contours } = glyph;
    let parts = 0;
    let depth = 0;
    for (const component of components) {
      const part = whole(component.glyph, level + 1);
      points += part.points;
      contours += part.contours;
      parts += 1 + part.components;
      depth = Math.max(depth, 1 + part.depth);
      if (points > maxPoints || parts > maxComponents || depth > maxDepth) throw damaged("glyf");
      place(extent, part.extent, component);
    }
    checkExtent(extent, unitsPerEm);
    const made = { points, contours, components: parts, depth, extent };
    known.set(index, made);
    return made;
  };
  for (const [index, { components }] of glyphs.entries()) {
    const { points, contours, depth } = whole(index, 0);
    if (components.length === 0) {
      most.points = Math.max(most.points, points);
      most.contours = Math.max(most.contours, contours);
    } else {
      most.compositePoints = Math.max(most.compositePoints, points);
      most.compositeContours = Math.max(most.compositeContours, contours);
      most.components = Math.max(most.components, components.length);
      most.depth = Math.max(most.depth, depth);
    }
  }
  return most;
}

function place(extent: Extent, { left, bottom, right, top }: Extent, { matrix, dx, dy }: Component): void {
  if (right < left) return;
  const [a, b, c, d] = matrix;
  for (const x of [left, right]) {
    for (const y of [bottom, top]) extend(extent, a * x + c * y + dx, b * x + d * y + dy);
  }
}
