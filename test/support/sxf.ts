import { encode } from "./encode.js";

/** Digital maps in the exchange format SXF (versions 4.0 and 3.0, binary), by its published description. */

export interface SxfMap {
  /** Default: 4. */
  readonly version?: 3 | 4;
  /** Default: 32637 (WGS 84 / UTM zone 37N) in version 4; version 3 knows no EPSG numbers. 0 = by `base`. */
  readonly epsg?: number;
  /** Ellipsoid, projection and coordinate system by the lists of the format. Default: those of Pulkovo 1942 / Gauss-Kruger. */
  readonly base?: readonly [ellipsoid: number, projection: number, system: number];
  /** Corners of the sheet in degrees, north before east, from the south-west clockwise. Default: around 38° east. */
  readonly corners?: readonly number[];
  /** Of texts on the map: 0 = cp866, 1 = cp1251. Default: 1. */
  readonly textEncoding?: 0 | 1;
  /** Bits of the state of the data. Default: real coordinates that fit the projection. */
  readonly state?: number;
  readonly records: readonly SxfRecord[];
  /** The number of records that the file claims to have. Default: that which it has. */
  readonly count?: number;
}

type Position = readonly [east: number, north: number, height?: number];

export interface SxfRecord {
  /** Default: line. */
  readonly kind?: keyof typeof kinds;
  /** Of the classifier. Default: 1. */
  readonly code?: number;
  /** Number of the object on the sheet. Default: 0. */
  readonly number?: number;
  /** The positions of the object, and those of its parts: holes of a polygon. */
  readonly parts: readonly (readonly Position[])[];
  /** Default: double. */
  readonly values?: keyof typeof valueTypes;
  /** The text of a text object. */
  readonly text?: string;
  readonly semantics?: readonly SxfSemantic[];
}

/** A value; numbers are multiplied by a power of ten. */
export type SxfSemantic =
  | { readonly code: number; readonly as: "cp866" | "cp1251" | "utf-16" | "long"; readonly text: string }
  | { readonly code: number; readonly as: 1 | 2 | 4 | 8; readonly value: number; readonly power?: number };

const kinds = { line: 0, polygon: 1, point: 2, text: 3, vector: 4, template: 5 } as const;

const valueTypes = {
  short: { isFloat: false, isLarge: false },
  float: { isFloat: true, isLarge: false },
  int: { isFloat: false, isLarge: true },
  double: { isFloat: true, isLarge: true },
} as const;

const sizes = {
  3: { passport: 256, descriptor: 44 },
  4: { passport: 400, descriptor: 52 },
} as const;

const gaussKruger = [1, 1, 1] as const;
const sheet = [55, 36, 56, 36, 56, 40, 55, 40];

export function sxfOf(map: SxfMap): Buffer {
  const { version = 4, records } = map;
  const data = records.map((record, index) => recordOf({ number: index + 1, ...record }, map));
  const descriptor = Buffer.alloc(sizes[version].descriptor);
  descriptor.write("DAT\0", 0, "latin1");
  descriptor.writeUInt32LE(descriptor.length, 4);
  descriptor.writeUInt32LE(map.count ?? records.length, version === 4 ? 40 : 32);
  const passport = version === 4 ? passport4(map) : passport3(map);
  return Buffer.concat([passport, descriptor, ...data]);
}

/** Bits: the data are for exchange (2), they fit the projection, the coordinates are real (2). */
const realCoordinates = 0b0001_1111;
const radians = (degrees: number) => (degrees * Math.PI) / 180;

function passport4(map: SxfMap): Buffer {
  const { epsg = 32637, base = gaussKruger, textEncoding = 1, state = realCoordinates } = map;
  const bytes = Buffer.alloc(sizes[4].passport);
  bytes.write("SXF\0", 0, "latin1");
  bytes.writeUInt32LE(bytes.length, 4);
  bytes[10] = 4;
  bytes.write("20240229", 16, "latin1");
  bytes.write("N-37-004", 28, "latin1");
  bytes.writeUInt32LE(1_000_000, 60);
  encode("Москва", "windows-1251")!.copy(bytes, 64);
  bytes.set([state, textEncoding, 1, 0], 96);
  bytes.writeUInt32LE(epsg, 100);
  for (const [index, degrees] of (map.corners ?? sheet).entries())
    bytes.writeDoubleLE(radians(degrees), 168 + 8 * index);
  const [ellipsoid, projection, system] = base;
  bytes.set([ellipsoid, 1, projection, system, 0, 0, 0xff], 232);
  bytes.writeUInt32LE(20_000, 312);
  bytes.writeDoubleLE(1, 360);
  return bytes;
}

function passport3(map: SxfMap): Buffer {
  const { base = gaussKruger, state = realCoordinates } = map;
  const bytes = Buffer.alloc(sizes[3].passport);
  bytes.write("SXF\0", 0, "latin1");
  bytes.writeUInt32LE(bytes.length, 4);
  bytes[9] = 3;
  bytes.write("960229", 16, "latin1");
  bytes.write("N-37-004", 24, "latin1");
  bytes.writeUInt32LE(1_000_000, 48);
  encode("Москва", "ibm866")!.copy(bytes, 52);
  bytes[78] = state;
  for (const [index, degrees] of (map.corners ?? sheet).entries())
    bytes.writeInt32LE(Math.round(radians(degrees) * 1e8), 126 + 4 * index);
  const [ellipsoid, projection, system] = base;
  bytes.set([ellipsoid, 1, projection, system], 158);
  bytes.writeUInt32LE(20_000, 212);
  bytes.fill(0xff, 232, 252);
  return bytes;
}

function recordOf(record: SxfRecord & { readonly number: number }, map: SxfMap): Buffer {
  const { kind = "line", code = 1, number, parts, values = "double", text, semantics = [] } = record;
  const [first, ...others] = parts;
  const hasZ = parts.some((positions) => positions.some(([, , height]) => height !== undefined));
  const metric = [
    positionsOf(first!, values, hasZ),
    ...(text === undefined ? [] : [textOf(text, map)]),
    ...others.map((positions) => {
      const head = Buffer.alloc(4);
      head.writeUInt16LE(positions.length, 2);
      return Buffer.concat([
        head,
        positionsOf(positions, values, hasZ),
        ...(text === undefined ? [] : [textOf(text, map)]),
      ]);
    }),
  ];
  const geometry = Buffer.concat(metric);
  const meaning = Buffer.concat(semantics.map(semanticOf));
  const { isFloat, isLarge } = valueTypes[values];
  const head = Buffer.alloc(32);
  head.writeUInt32LE(0x7fff_7fff, 0);
  head.writeUInt32LE(32 + geometry.length + meaning.length, 4);
  head.writeUInt32LE(geometry.length, 8);
  head.writeUInt32LE(code, 12);
  head.writeUInt32LE(number, 16);
  head[20] = kinds[kind];
  head[21] = (semantics.length > 0 ? 2 : 0) | (isLarge ? 4 : 0);
  head[22] = (hasZ ? 2 : 0) | (isFloat ? 4 : 0) | (text === undefined ? 0 : 8);
  const count = first!.length;
  head.writeUInt32LE(count, 24);
  head.writeUInt16LE(others.length, 28);
  head.writeUInt16LE(Math.min(count, 0xffff), 30);
  return Buffer.concat([head, geometry, meaning]);
}

/** Positions are written north before east; heights are floats unless positions are doubles. */
function positionsOf(positions: readonly Position[], values: keyof typeof valueTypes, hasZ: boolean): Buffer {
  return Buffer.concat(
    positions.map(([east, north, height = 0]) => {
      const bytes = Buffer.alloc(32);
      let at = 0;
      for (const value of [north, east]) {
        if (values === "double") at = bytes.writeDoubleLE(value, at);
        else if (values === "float") at = bytes.writeFloatLE(value, at);
        else if (values === "int") at = bytes.writeInt32LE(value, at);
        else at = bytes.writeInt16LE(value, at);
      }
      if (hasZ) at = values === "double" ? bytes.writeDoubleLE(height, at) : bytes.writeFloatLE(height, at);
      return bytes.subarray(0, at);
    }),
  );
}

function textOf(text: string, { version = 4, textEncoding = 1 }: SxfMap): Buffer {
  const bytes = encode(text, version === 3 || textEncoding === 0 ? "ibm866" : "windows-1251")!;
  return Buffer.concat([Buffer.of(bytes.length), bytes, Buffer.of(0)]);
}

function semanticOf(semantic: SxfSemantic): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(semantic.code, 0);
  if (typeof semantic.as === "number") {
    const { as, value, power = 0 } = semantic as Extract<SxfSemantic, { value: number }>;
    head[2] = as;
    head.writeInt8(power, 3);
    const bytes = Buffer.alloc(as);
    if (as === 8) bytes.writeDoubleLE(value);
    else bytes.writeIntLE(value, 0, as);
    return Buffer.concat([head, bytes]);
  }
  const { as, text } = semantic as Extract<SxfSemantic, { text: string }>;
  if (as === "long") {
    head[2] = 128;
    const bytes = encode(`${text}\0`, "utf-16le")!;
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([head, length, bytes]);
  }
  head[2] = { cp866: 0, cp1251: 126, "utf-16": 127 }[as];
  const label = { cp866: "ibm866", cp1251: "windows-1251", "utf-16": "utf-16le" }[as];
  const bytes = encode(text, label)!;
  const characterBytes = as === "utf-16" ? 2 : 1;
  head[3] = bytes.length / characterBytes;
  return Buffer.concat([head, bytes, Buffer.alloc(characterBytes)]);
}

export interface SxfClassifier {
  readonly layers: readonly { readonly number: number; readonly name: string }[];
  readonly objects: readonly {
    readonly code: number;
    readonly kind: keyof typeof kinds;
    readonly layer: number;
    readonly name: string;
  }[];
}

/** A classifier (`.rsc`), with texts in Windows-1251. */
export function rscOf({ layers, objects }: SxfClassifier): Buffer {
  const head = Buffer.alloc(328);
  head.write("RSC\0", 0, "latin1");
  head.writeUInt32LE(126, 320);
  const objectRecords = objects.map(({ code, kind, layer, name }) => {
    const record = Buffer.alloc(96);
    record.writeUInt32LE(record.length, 0);
    record.writeUInt32LE(code, 4);
    encode(name, "windows-1251")!.copy(record, 48);
    record.set([kinds[kind], layer], 80);
    return record;
  });
  const layerRecords = layers.map(({ number, name }) => {
    const record = Buffer.alloc(56);
    record.writeUInt32LE(record.length, 0);
    encode(name, "windows-1251")!.copy(record, 36);
    record[52] = number;
    return record;
  });
  const sections = [
    { at: 120, records: objectRecords, mark: "OBJ\0" },
    { at: 180, records: layerRecords, mark: "SEG\0" },
  ];
  const parts = [head];
  let length = head.length;
  for (const { at, records, mark } of sections) {
    const bytes = Buffer.concat([Buffer.from(mark, "latin1"), ...records]);
    head.writeUInt32LE(length + 4, at);
    head.writeUInt32LE(bytes.length, at + 4);
    head.writeUInt32LE(records.length, at + 8);
    parts.push(bytes);
    length += bytes.length;
  }
  head.writeUInt32LE(length, 4);
  return Buffer.concat(parts);
}
