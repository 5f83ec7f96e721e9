import { copyBytes, writeText } from "../../../src/geo/short-bytes.js";

/**
 * Writes FlatBuffers messages (flatbuffers.dev) from front to back: each table after its vtable, and what a table refers to
 * after the table. Positions in the buffer are called places; a reference is the place of four bytes that say how far ahead
 * its target is.
 */

/** Bytes of each field of a table, which are also its alignment; 0 = absent. */
export type TableFields = readonly (0 | 1 | 2 | 4 | 8)[];

/** Places of a table's fields. */
export type Places = readonly number[];

export class FlatBuffers {
  private buffer: Buffer;
  /** Of the buffer: its methods are compiled to single instructions, those of the buffer are not. */
  private view: DataView;
  /** Place of the message's size; alignment counts from here. */
  private start = 0;
  private used = 0;

  constructor(private readonly capacity: number) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
    this.view = new DataView(this.buffer.buffer);
  }

  /** Bytes since the last `take`. */
  get length(): number {
    return this.used;
  }

  /** All complete messages. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.allocUnsafeSlow(this.capacity);
    this.view = new DataView(this.buffer.buffer);
    this.used = 0;
    return taken;
  }

  /** Begins a message with its size; returns the reference to its root table. */
  startMessage(): number {
    this.start = this.skip(4);
    return this.skip(4);
  }

  endMessage(): void {
    this.uint32(this.start, this.used - this.start - 4);
  }

  /** A table whose fields are zero. */
  table(reference: number, fields: TableFields): Places {
    this.align(2, 0);
    const vtable = this.skip(4 + 2 * fields.length);
    this.align(4, 0);
    this.pointTo(reference);
    const table = this.skip(4);
    const places: number[] = [];
    for (let index = 0; index < fields.length; index++) {
      const bytes = fields[index]!;
      let place = table;
      if (bytes > 0) {
        this.align(bytes, 0);
        place = this.skip(bytes);
      }
      places.push(place);
      this.uint16(vtable + 4 + 2 * index, place - table);
    }
    this.uint16(vtable, 4 + 2 * fields.length);
    this.uint16(vtable + 2, this.used - table);
    this.uint32(table, table - vtable);
    return places;
  }

  /** A vector of `count` references; returns the place of the first. */
  references(reference: number, count: number): number {
    this.vector(reference, count);
    return this.skip(4 * count);
  }

  /** The length of a vector of bytes, 32-bit numbers or references, whose elements follow. */
  vector(reference: number, count: number): number {
    this.align(4, 0);
    this.pointTo(reference);
    const place = this.skip(4);
    this.uint32(place, count);
    return place;
  }

  /** The length of a vector of doubles, which follow. */
  doubles(reference: number, count: number): void {
    this.align(8, 4);
    this.pointTo(reference);
    this.uint32(this.skip(4), count);
  }

  text(reference: number, text: string): void {
    this.align(4, 0);
    this.pointTo(reference);
    this.sizedText(text);
    this.skip(1);
  }

  /** Length in bytes, and the text in UTF-8. */
  sizedText(text: string): void {
    const length = this.skip(4);
    this.reserve(3 * text.length);
    const bytes = writeText(this.buffer, this.used, text);
    this.used += bytes;
    this.uint32(length, bytes);
  }

  copy(source: Buffer, offset: number, bytes: number): void {
    this.reserve(bytes);
    copyBytes(source, offset, this.buffer, this.used, bytes);
    this.used += bytes;
  }

  uint8(place: number, value: number): void {
    this.buffer[place] = value;
  }
  uint16(place: number, value: number): void {
    this.view.setUint16(place, value, true);
  }
  int32(place: number, value: number): void {
    this.view.setInt32(place, value, true);
  }
  uint32(place: number, value: number): void {
    this.view.setUint32(place, value, true);
  }
  /** A whole number of at most 53 bits. */
  int64(place: number, value: number): void {
    this.view.setUint32(place, value >>> 0, true);
    this.view.setInt32(place + 4, Math.floor(value / 2 ** 32), true);
  }
  double(place: number, value: number): void {
    this.view.setFloat64(place, value, true);
  }

  /** Writes zeros; returns their place. */
  skip(bytes: number): number {
    this.reserve(bytes);
    const place = this.used;
    if (bytes <= 16) for (let index = 0; index < bytes; index++) this.buffer[place + index] = 0;
    else this.buffer.fill(0, place, place + bytes);
    this.used += bytes;
    return place;
  }

  private pointTo(reference: number): void {
    this.uint32(reference, this.used - reference);
  }

  /** Skips bytes until the place is `remainder` more than a multiple of `to`. */
  private align(to: number, remainder: number): void {
    const odd = (this.used - this.start - remainder) & (to - 1);
    if (odd !== 0) this.skip(to - odd);
  }

  private reserve(bytes: number): void {
    if (this.used + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.buffer.length, this.used + bytes));
    this.buffer.copy(larger, 0, 0, this.used);
    this.buffer = larger;
    this.view = new DataView(larger.buffer);
  }
}
