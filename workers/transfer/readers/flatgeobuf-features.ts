import { closeSync, openSync, readSync } from "node:fs";
import { SlidingBuffer } from "../sliding-buffer.js";
import { FlatBufferTables, UnsoundMessage } from "./flatbuffer-tables.js";
import { FlatGeobufGeometry } from "./flatgeobuf-geometry.js";
import type { FlatGeobufHeader } from "./flatgeobuf-header.js";

/**
 * Reads the features of FlatGeobuf one after the other, without objects for their parts. The numbers of fields in tables are
 * those of feature.fbs.
 *
 * The package flatgeobuf 4.5.0 makes GeoJSON of them, of which WKB would have to be made, rounds whole numbers of 64 bits to doubles, and
 * trusts the file: of 1,500 damaged ones it read 9 with more or fewer features than they have. 79 MB take it 1.05 seconds as a stream,
 * and 0.3 here with the WKB.
 */

const initialBytes = 1024 ** 2;
/** Bound on a feature. Five million positions with heights and measures have 160 MB. */
export const maxFeatureBytes = 256 * 1024 ** 2;

/** Types of columns by their number in FlatGeobuf. */
export const columnTypes = {
  byte: 0,
  ubyte: 1,
  bool: 2,
  short: 3,
  ushort: 4,
  int: 5,
  uint: 6,
  long: 7,
  float: 9,
  double: 10,
  string: 11,
  json: 12,
  datetime: 13,
  binary: 14,
} as const;

/**
 * Whole numbers of 32 bits without a sign and of 64 bits are texts, as times are; what is true or false is 0 or 1. Bytes are
 * valid until the next feature.
 */
export type FlatGeobufValue = string | number | Buffer | null;

/** Bytes of a value, or of its length if that differs. */
const sizes: Readonly<Record<number, number>> = {
  [columnTypes.byte]: 1,
  [columnTypes.ubyte]: 1,
  [columnTypes.bool]: 1,
  [columnTypes.short]: 2,
  [columnTypes.ushort]: 2,
  [columnTypes.int]: 4,
  [columnTypes.uint]: 4,
  [columnTypes.long]: 8,
  [columnTypes.float]: 4,
  [columnTypes.double]: 8,
  [columnTypes.string]: 4,
  [columnTypes.json]: 4,
  [columnTypes.datetime]: 4,
  [columnTypes.binary]: 4,
};

export class FlatGeobufFeatures extends SlidingBuffer {
  /** Of the current feature, in the order of the columns. */
  readonly values: FlatGeobufValue[];
  private readonly geometries: FlatGeobufGeometry;
  private readonly tables: FlatBufferTables;
  private readonly types: readonly number[];
  private view: DataView;
  private feature = 0;

  private constructor(
    private readonly file: number,
    header: FlatGeobufHeader,
  ) {
    let position = header.start;
    const read = (buffer: Buffer, at: number) => {
      const bytes = readSync(file, buffer, at, buffer.length - at, position);
      position += bytes;
      return bytes;
    };
    const tooLarge = () => "A feature is too large.";
    super({ read }, { initialBytes, maxBytes: maxFeatureBytes, tooLarge });
    this.view = new DataView(this.bytes.buffer);
    this.tables = new FlatBufferTables(this.view);
    this.geometries = new FlatGeobufGeometry(header, this.tables);
    this.types = header.columns.map(({ type }) => type);
    this.values = this.types.map(() => null);
  }

  static open(path: string, header: FlatGeobufHeader): FlatGeobufFeatures {
    return new FlatGeobufFeatures(openSync(path, "r"), header);
  }

  close(): void {
    closeSync(this.file);
  }

  /** Reads the next feature. @returns whether there is one; @throws UnsoundMessage for damaged and too large ones */
  next(): boolean {
    if (!this.require(4)) {
      if (this.at < this.end) throw new UnsoundMessage();
      return false;
    }
    const size = this.view.getUint32(this.at, true);
    if (size > maxFeatureBytes || !this.require(4 + size)) throw new UnsoundMessage();
    const start = this.at + 4;
    this.at = start + size;
    this.feature = this.tables.enter(this.view, start, this.at);
    this.readValues();
    return true;
  }

  /** The geometry of the current feature as ISO WKB, valid until the next one; undefined when it has none. */
  geometry(): Buffer | undefined {
    const table = this.tables.table(this.feature, 0);
    return table === 0 ? undefined : this.geometries.encode(this.view, table);
  }

  /** Whether so many bytes of the file follow; they are in the buffer then. */
  private require(bytes: number): boolean {
    while (this.end - this.at < bytes && !this.ended) {
      this.fill();
      if (this.view.buffer !== this.bytes.buffer) this.view = new DataView(this.bytes.buffer);
    }
    return this.end - this.at >= bytes;
  }

  private readValues(): void {
    const { tables, types, values, view } = this;
    values.fill(null);
    // Columns of its own.
    if (tables.field(this.feature, 2, 4) !== 0) throw new UnsoundMessage();
    let at = tables.vector(this.feature, 1, 1);
    const end = at + tables.count;
    while (at < end) {
      if (at + 2 > end) throw new UnsoundMessage();
      const column = view.getUint16(at, true);
      const type = types[column];
      const size = type === undefined ? undefined : sizes[type];
      if (size === undefined || at + 2 + size > end) throw new UnsoundMessage();
      at += 2;
      if (type! >= columnTypes.string) {
        const length = view.getUint32(at, true);
        at += 4;
        if (at + length > end) throw new UnsoundMessage();
        values[column] =
          type === columnTypes.binary
            ? this.bytes.subarray(at, at + length)
            : this.bytes.toString("utf8", at, at + length);
        at += length;
      } else {
        values[column] = this.number(type!, at);
        at += size;
      }
    }
  }

  private number(type: number, at: number): number | string {
    const { view } = this;
    switch (type) {
      case columnTypes.byte:
        return view.getInt8(at);
      case columnTypes.ubyte:
      case columnTypes.bool:
        return view.getUint8(at);
      case columnTypes.short:
        return view.getInt16(at, true);
      case columnTypes.ushort:
        return view.getUint16(at, true);
      case columnTypes.int:
        return view.getInt32(at, true);
      case columnTypes.uint:
        return String(view.getUint32(at, true));
      case columnTypes.float:
        return view.getFloat32(at, true);
      case columnTypes.double:
        return view.getFloat64(at, true);
      default:
        return wholeNumber(view, at);
    }
  }
}

/** The text of a whole number of 64 bits. */
function wholeNumber(view: DataView, at: number): string {
  const high = view.getInt32(at + 4, true);
  // Most numbers fit a double.
  if (high >= -(2 ** 20) && high < 2 ** 20) return String(high * 2 ** 32 + view.getUint32(at, true));
  return String(view.getBigInt64(at, true));
}
