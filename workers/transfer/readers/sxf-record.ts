import { badFeature, badGeometry } from "../refusal.js";
import { addPosition, type Positions, type Shape } from "../shapes.js";
import type { Passport } from "./sxf-passport.js";

/** A record of an SXF file: an object of the map. */

export interface SxfRecord {
  readonly code: number;
  readonly kind: SxfKind;
  /** Number of the object on the sheet. */
  readonly number: number;
  readonly shape: Shape;
  /** The text of a text object, with a line for each of its parts. */
  readonly text: string | undefined;
  /** The values by their codes, in the order of the file. A code may come several times. */
  readonly semantics: readonly (readonly [code: number, value: string | number])[];
}

/** What an object is on the map, by its number in the file. */
export const sxfKinds = ["line", "polygon", "point", "text", "vector", "template"] as const;
export type SxfKind = (typeof sxfKinds)[number];

export interface RecordRules {
  readonly passport: Pick<Passport, "version" | "encoding" | "place">;
  /** The encoding that the client named. */
  readonly requested: string | undefined;
}

/** Bytes of the title of a record. */
export const titleBytes = 32;

/**
 * @param bytes the whole record
 * @throws BadFeature when it cannot be read
 */
export function readRecord(bytes: Buffer, rules: RecordRules): SxfRecord {
  const kind = sxfKinds[bytes[20]! & 0b1111];
  if (kind === undefined) throw badGeometry("its kind is not known");
  const metricBytes = bytes.readUInt32LE(8);
  const metric = readMetric(bytes.subarray(0, titleBytes + metricBytes), kind, rules);
  const hasSemantics = (bytes[21]! & 2) !== 0;
  const semantics = hasSemantics ? readSemantics(bytes.subarray(titleBytes + metricBytes), rules) : [];
  return { code: bytes.readUInt32LE(12), kind, number: bytes.readUInt32LE(16), ...metric, semantics };
}

function readMetric(bytes: Buffer, kind: SxfKind, rules: RecordRules): Pick<SxfRecord, "shape" | "text"> {
  const { version } = rules.passport;
  const [first, second, third] = [bytes[20]!, bytes[21]!, bytes[22]!];
  const isText = (kind === "text" || kind === "template") && (third & 8) !== 0;
  const isWide = version === 4 && isText && (second & 16) !== 0;
  const cursor = new MetricCursor(bytes, {
    hasZ: (third & 2) !== 0,
    isFloat: (third & 4) !== 0,
    isLarge: (second & 4) !== 0,
    place: rules.passport.place,
  });
  const encoding = isWide ? "utf-16le" : (rules.requested ?? rules.passport.encoding);
  const parts: Positions[] = [];
  const texts: string[] = [];
  const small = bytes.readUInt16LE(30);
  const all = version === 4 && small === 0xffff ? bytes.readUInt32LE(24) : small;
  const others = bytes.readUInt16LE(28);
  for (let part = 0; part <= others; part++) {
    const count = part === 0 ? all : cursor.count(all > 0xffff);
    parts.push(cursor.positions(count));
    if (isText) texts.push(cursor.text(encoding));
  }
  const isMany = kind === "polygon" && version === 4 && (first & 16) !== 0;
  return { shape: shapeOf(kind, parts, isMany), text: isText ? texts.join("\n") : undefined };
}

interface Numbers {
  readonly hasZ: boolean;
  readonly isFloat: boolean;
  readonly isLarge: boolean;
  readonly place: Passport["place"];
}

/** Reads the metric of a record, which its positions and texts follow one another in. */
class MetricCursor {
  private at = titleBytes;
  private readonly valueBytes: 2 | 4 | 8;
  private readonly positionBytes: number;

  constructor(
    private readonly bytes: Buffer,
    private readonly numbers: Numbers,
  ) {
    const { hasZ, isFloat, isLarge } = numbers;
    this.valueBytes = isFloat ? (isLarge ? 8 : 4) : isLarge ? 4 : 2;
    // Heights are floats, beside doubles doubles.
    this.positionBytes = 2 * this.valueBytes + (hasZ ? (this.valueBytes === 8 ? 8 : 4) : 0);
  }

  /** The number of positions of the next part. */
  count(isLarge: boolean): number {
    const at = this.take(4);
    const count = this.bytes.readUInt16LE(at + 2);
    return isLarge ? count + 0x1_0000 * this.bytes.readUInt16LE(at) : count;
  }

  positions(count: number): Positions {
    const { bytes, positionBytes, valueBytes } = this;
    const { hasZ, place } = this.numbers;
    let at = this.take(count * positionBytes);
    const positions: number[] = [];
    for (let index = 0; index < count; index++, at += positionBytes) {
      const [x, y] = place(this.value(at), this.value(at + valueBytes));
      if (!Number.isFinite(x) || !Number.isFinite(y)) throw badGeometry("its coordinates are no numbers");
      const heightAt = at + 2 * valueBytes;
      const z = valueBytes === 8 ? bytes.readDoubleLE.bind(bytes) : bytes.readFloatLE.bind(bytes);
      addPosition(positions, x, y, hasZ ? z(heightAt) : Number.NaN);
    }
    return positions;
  }

  /** A text with its length in front and a zero after it. */
  text(encoding: string): string {
    const length = this.bytes[this.take(1)]!;
    const at = this.take(length);
    // The last zero may be missing.
    if (this.at < this.bytes.length) this.at++;
    return decoded(this.bytes.subarray(at, at + length), encoding);
  }

  private value(at: number): number {
    const { isFloat, isLarge } = this.numbers;
    const { bytes } = this;
    if (isFloat) return isLarge ? bytes.readDoubleLE(at) : bytes.readFloatLE(at);
    return isLarge ? bytes.readInt32LE(at) : bytes.readInt16LE(at);
  }

  private take(length: number): number {
    const { at } = this;
    if (at + length > this.bytes.length) throw badGeometry("its geometry is cut off");
    this.at += length;
    return at;
  }
}

function shapeOf(kind: SxfKind, parts: readonly Positions[], isMany: boolean): Shape {
  if (kind === "polygon") {
    const polygons = isMany ? polygonsOf(parts.map(closed)) : [parts.map(closed)];
    return one(polygons.map((rings) => ({ kind: "Polygon", rings })));
  }
  if (kind === "point" || kind === "template") {
    const points = parts.flatMap((part) => split(part));
    return one(points.map((positions) => ({ kind: "Point", positions })));
  }
  // Texts stand at a point or along a line.
  return one(
    parts.map((positions) => ({
      kind: kind === "text" && positions.length === 3 ? "Point" : "LineString",
      positions,
    })),
  );
}

const one = (members: readonly Shape[]): Shape =>
  members.length === 1 ? members[0]! : { kind: "Multi", members };

const split = (part: Positions): Positions[] =>
  Array.from({ length: part.length / 3 }, (_, index) => part.slice(3 * index, 3 * index + 3));

function closed(ring: Positions): Positions {
  const [x, y] = ring;
  const isClosed = ring.at(-3) === x && ring.at(-2) === y;
  return isClosed ? ring : [...ring, ...ring.slice(0, 3)];
}

/** Bound on the numbers that are compared to tell the holes of one object; they take half a second. */
const maxCompared = 300_000_000;

/** Rings of which some are holes of others: those that begin within a ring before them. */
function polygonsOf(rings: readonly Positions[]): Positions[][] {
  const polygons: Positions[][] = [];
  let compared = 0;
  for (const ring of rings) {
    const around = polygons.find(([outer]) => {
      compared += outer!.length;
      if (compared > maxCompared) throw badGeometry("it has too many parts to tell which of them are holes");
      return contains(outer!, ring[0]!, ring[1]!);
    });
    if (around) around.push(ring);
    else polygons.push([ring]);
  }
  return polygons;
}

function contains(ring: Positions, x: number, y: number): boolean {
  let isWithin = false;
  for (let at = 0; at + 3 < ring.length; at += 3) {
    const [x1, y1, x2, y2] = [ring[at]!, ring[at + 1]!, ring[at + 3]!, ring[at + 4]!];
    if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) isWithin = !isWithin;
  }
  return isWithin;
}

/** Lengths of numbers in the semantics by their type. */
const numberBytes: Readonly<Record<number, 1 | 2 | 4 | 8>> = { 1: 1, 2: 2, 4: 4, 8: 8 };

function readSemantics(bytes: Buffer, { requested }: RecordRules): [code: number, value: string | number][] {
  const values: [number, string | number][] = [];
  let at = 0;
  const take = (length: number): number => {
    const from = at;
    if (from + length > bytes.length) throw badFeature("its values are cut off");
    at += length;
    return from;
  };
  const text = (length: number, encoding: string): string => {
    const from = take(length);
    return decoded(bytes.subarray(from, from + length), encoding);
  };
  while (at < bytes.length) {
    const from = take(4);
    const [code, type, scale] = [bytes.readUInt16LE(from), bytes[from + 2]!, bytes[from + 3]!];
    const width = numberBytes[type];
    if (width !== undefined)
      values.push([code, numberAt(bytes, take(width), width, bytes.readInt8(from + 3))]);
    else if (type === 0) values.push([code, text(scale + 1, requested ?? "ibm866")]);
    else if (type === 126) values.push([code, text(scale + 1, requested ?? "windows-1251")]);
    else if (type === 127) values.push([code, text(2 * (scale + 1), "utf-16le")]);
    else if (type === 128) values.push([code, text(bytes.readUInt32LE(take(4)), "utf-16le")]);
    else throw badFeature(`its value SC_${code} has a type that is not known`);
  }
  return values;
}

function numberAt(bytes: Buffer, at: number, width: 1 | 2 | 4 | 8, power: number): number {
  if (width === 8) {
    const value = bytes.readDoubleLE(at);
    return power < 0 ? value / 10 ** -power : value * 10 ** power;
  }
  const value = width === 1 ? bytes.readUInt8(at) : bytes.readIntLE(at, width);
  // By way of the text, which is exact.
  return Number(`${value}e${power}`);
}

const decoders = new Map<string, InstanceType<typeof TextDecoder>>();

/** The text up to its first zero. */
function decoded(bytes: Buffer, encoding: string): string {
  const decoder = decoders.get(encoding) ?? new TextDecoder(encoding);
  decoders.set(encoding, decoder);
  const text = decoder.decode(bytes);
  const end = text.indexOf("\0");
  return end < 0 ? text : text.slice(0, end);
}
