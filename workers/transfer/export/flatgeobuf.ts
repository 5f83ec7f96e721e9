import { FlatBuffers } from "./flatbuffers.js";

/**
 * Writes FlatGeobuf 3.0 (flatgeobuf.org) without a spatial index: a header, then one message for each feature. The numbers
 * of fields in tables are those of its schemas, header.fbs and feature.fbs.
 */

/** Types of columns that we write, by their number in FlatGeobuf. */
const columnTypes = { bool: 2, long: 7, double: 10, text: 11, json: 12, datetime: 13 } as const;
export type FieldType = keyof typeof columnTypes;

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Characters of a text or of a decimal number. */
  readonly width?: number | undefined;
  /** Of these, those after the point; absent for texts, and for numbers that are no decimal ones. */
  readonly decimals?: number | undefined;
}

/** `datetime`: ISO 8601. `json`: its text. null = no value. */
export type FieldValue = string | number | boolean | null;

/** Geometry types by their number, which WKB has too. */
export const geometryTypes = {
  Unknown: 0,
  Point: 1,
  LineString: 2,
  Polygon: 3,
  MultiPoint: 4,
  MultiLineString: 5,
  MultiPolygon: 6,
  GeometryCollection: 7,
} as const;
export type GeometryTypeName = keyof typeof geometryTypes;
export const geometryTypeNames = Object.keys(geometryTypes) as GeometryTypeName[];

export interface LayerHeader {
  readonly name: string;
  readonly geometry: GeometryTypeName;
  readonly hasZ: boolean;
  readonly fields: readonly Field[];
  /** EPSG number. */
  readonly srid: number;
}

const magic = Buffer.from("6667620366676201", "hex");

/** A file's beginning. */
export function flatGeobufHeader(header: LayerHeader): Buffer {
  const out = new FlatBuffers(4_096);
  const root = out.startMessage();
  // Name, envelope, geometry type, has z, m, t, tm, columns, number of features, nodes of the index, reference system.
  const table = out.table(root, [4, 0, 1, 1, 0, 0, 0, 4, 0, 2, 4]);
  out.uint8(table[2]!, geometryTypes[header.geometry]);
  out.uint8(table[3]!, header.hasZ ? 1 : 0);
  out.text(table[0]!, header.name);
  const columns = out.references(table[7]!, header.fields.length);
  for (const [index, field] of header.fields.entries()) writeColumn(out, columns + 4 * index, field);
  const system = out.table(table[10]!, [4, 4]);
  out.int32(system[1]!, header.srid);
  out.text(system[0]!, "EPSG");
  out.endMessage();
  return Buffer.concat([magic, out.take()]);
}

function writeColumn(out: FlatBuffers, reference: number, { name, type, width, decimals }: Field): void {
  // Name, type, title, description, width, precision, scale.
  const column = out.table(reference, [4, 1, 0, 0, 4, 4, 4]);
  out.uint8(column[1]!, columnTypes[type]);
  out.int32(column[4]!, width ?? -1);
  // GDAL takes the width of numbers from their precision.
  out.int32(column[5]!, decimals === undefined ? -1 : (width ?? -1));
  out.int32(column[6]!, decimals ?? -1);
  out.text(column[0]!, name);
}

/** Appends features to a buffer. */
export class FeatureEncoder {
  private readonly out = new FlatBuffers(4 * 1024 ** 2);

  constructor(private readonly header: Pick<LayerHeader, "fields" | "hasZ">) {}

  /** Bytes of the features that were not taken yet. */
  get length(): number {
    return this.out.length;
  }

  /** The features since the last call. */
  take(): Buffer {
    return this.out.take();
  }

  /**
   * @param wkb little-endian ISO WKB, 2D or with Z; null = no geometry. Empty parts are left out. If the header says that
   *   there are heights, missing ones become 0; else there must be none.
   * @param values in the order of the fields
   */
  add(wkb: Buffer | null, values: readonly FieldValue[]): void {
    const { out } = this;
    const feature = out.table(out.startMessage(), wkb ? [4, 4] : [0, 4]);
    if (wkb) writeGeometry({ out, reader: new WkbReader(wkb), hasZ: this.header.hasZ }, feature[0]!);
    this.writeProperties(feature[1]!, values);
    out.endMessage();
  }

  private writeProperties(reference: number, values: readonly FieldValue[]): void {
    const { out } = this;
    const { fields } = this.header;
    const length = out.vector(reference, 0);
    for (let index = 0; index < fields.length; index++) {
      const value = values[index];
      if (value === null || value === undefined) continue;
      out.uint16(out.skip(2), index);
      switch (fields[index]!.type) {
        case "bool":
          out.uint8(out.skip(1), value === true ? 1 : 0);
          break;
        case "long":
          out.int64(out.skip(8), Number(value));
          break;
        case "double":
          out.double(out.skip(8), Number(value));
          break;
        default:
          out.sizedText(String(value));
      }
    }
    out.uint32(length, out.length - length - 4);
  }
}

/** Reads through ISO WKB. */
class WkbReader {
  private at = 0;

  constructor(readonly bytes: Buffer) {}

  /** Type and dimensions of the geometry that begins here. */
  header(): { readonly type: number; readonly dimensions: 2 | 3 } {
    const code = this.bytes.readUInt32LE(this.at + 1);
    this.at += 5;
    return { type: code % 1_000, dimensions: code >= 1_000 ? 3 : 2 };
  }

  count(): number {
    const count = this.bytes.readUInt32LE(this.at);
    this.at += 4;
    return count;
  }

  /** Offset of that many positions, which are skipped. */
  positions(count: number, dimensions: number): number {
    const offset = this.at;
    this.at += 8 * dimensions * count;
    return offset;
  }
}

interface Run {
  readonly offset: number;
  readonly count: number;
}

interface Geometry {
  readonly out: FlatBuffers;
  readonly reader: WkbReader;
  readonly hasZ: boolean;
}

function writeGeometry(geometry: Geometry, reference: number): void {
  const { out, reader, hasZ } = geometry;
  const { type, dimensions } = reader.header();
  if (type === geometryTypes.MultiPolygon || type === geometryTypes.GeometryCollection) {
    writeParts(geometry, reference, type);
    return;
  }
  const runs = readRuns(reader, type, dimensions);
  // GDAL reads no MultiLineString without them, of one line either, and nothing beyond it.
  const hasEnds =
    (type === geometryTypes.Polygon && runs.length > 1) ||
    (type === geometryTypes.MultiLineString && runs.length > 0);
  // Ends, xy, z, m, t, tm, type.
  const table = out.table(reference, [hasEnds ? 4 : 0, 4, hasZ ? 4 : 0, 0, 0, 0, 1]);
  // GDAL cannot read a part that is an empty MultiLineString.
  const isRead = type !== geometryTypes.MultiLineString || runs.length > 0;
  out.uint8(table[6]!, isRead ? type : geometryTypes.LineString);
  if (hasEnds) {
    out.vector(table[0]!, runs.length);
    let end = 0;
    for (const { count } of runs) {
      end += count;
      out.uint32(out.skip(4), end);
    }
  }
  const positions = runs.reduce((sum, { count }) => sum + count, 0);
  out.doubles(table[1]!, 2 * positions);
  for (const { offset, count } of runs) {
    if (dimensions === 2) out.copy(reader.bytes, offset, 16 * count);
    else for (let index = 0; index < count; index++) out.copy(reader.bytes, offset + 24 * index, 16);
  }
  if (!hasZ) return;
  out.doubles(table[2]!, positions);
  for (const { offset, count } of runs) {
    if (dimensions === 2) out.skip(8 * count);
    else for (let index = 0; index < count; index++) out.copy(reader.bytes, offset + 24 * index + 16, 8);
  }
}

/** The runs of positions of a geometry other than a MultiPolygon or collection, without empty ones. */
function readRuns(reader: WkbReader, type: number, dimensions: 2 | 3): Run[] {
  const run = (count: number): Run => ({ offset: reader.positions(count, dimensions), count });
  if (type === 1) return [run(1)];
  if (type === 2) return [run(reader.count())];
  const runs: Run[] = [];
  const members = reader.count();
  for (let member = 0; member < members; member++) {
    if (type !== 3) reader.header();
    const next = run(type === 4 ? 1 : reader.count());
    // The coordinates of an empty point are NaN.
    if (next.count > 0 && !Number.isNaN(reader.bytes.readDoubleLE(next.offset))) runs.push(next);
  }
  return runs;
}

function writeParts(geometry: Geometry, reference: number, type: number): void {
  const { out, reader } = geometry;
  // Ends, xy, z, m, t, tm, type, parts.
  const table = out.table(reference, [0, 0, 0, 0, 0, 0, 1, 4]);
  out.uint8(table[6]!, type);
  const count = reader.count();
  const parts = out.references(table[7]!, count);
  for (let index = 0; index < count; index++) writeGeometry(geometry, parts + 4 * index);
}
