/**
 * Reads FlatBuffers messages (flatbuffers.dev) that may be damaged: whatever a table refers to is checked to lie within the
 * message. Positions in the bytes are called places; place 0 stands for a field that is absent.
 */

/** The message is not what the format says. */
export class UnsoundMessage extends Error {}

export class FlatBufferTables {
  /** Number of elements of the vector that was entered last. */
  count = 0;
  private start = 0;
  private end = 0;

  constructor(private view: DataView) {}

  /** Moves to the message at [start, end) of these bytes. @returns its root table */
  enter(view: DataView, start: number, end: number): number {
    this.view = view;
    this.start = start;
    this.end = end;
    return this.target(start);
  }

  /** The place of a table's field of that many bytes; 0 when it is absent. */
  field(table: number, number: number, bytes: number): number {
    this.require(table, 4);
    const vtable = table - this.view.getInt32(table, true);
    this.require(vtable, 4);
    const at = 4 + 2 * number;
    const length = this.view.getUint16(vtable, true);
    if (at + 2 > length) return 0;
    this.require(vtable, length);
    const offset = this.view.getUint16(vtable + at, true);
    if (offset === 0) return 0;
    this.require(table + offset, bytes);
    return table + offset;
  }

  /** What the reference at a place points to. */
  target(place: number): number {
    this.require(place, 4);
    return place + this.view.getUint32(place, true);
  }

  /** The table that a field refers to; 0 when the field is absent. */
  table(table: number, number: number): number {
    const place = this.field(table, number, 4);
    return place === 0 ? 0 : this.target(place);
  }

  /** The first element of the vector that a field refers to, and `count`; both are 0 when the field is absent. */
  vector(table: number, number: number, elementBytes: number): number {
    const place = this.table(table, number);
    this.count = 0;
    if (place === 0) return 0;
    this.require(place, 4);
    const count = this.view.getUint32(place, true);
    this.require(place + 4, count * elementBytes);
    this.count = count;
    return place + 4;
  }

  /** The unsigned byte of a field. */
  uint8(table: number, number: number, absent: number): number {
    const place = this.field(table, number, 1);
    return place === 0 ? absent : this.view.getUint8(place);
  }

  uint16(table: number, number: number, absent: number): number {
    const place = this.field(table, number, 2);
    return place === 0 ? absent : this.view.getUint16(place, true);
  }

  /** @throws UnsoundMessage beyond 2^53 */
  uint64(table: number, number: number, absent: number): number {
    const place = this.field(table, number, 8);
    if (place === 0) return absent;
    const value = this.view.getUint32(place, true) + 2 ** 32 * this.view.getUint32(place + 4, true);
    if (!Number.isSafeInteger(value)) throw new UnsoundMessage();
    return value;
  }

  /** @throws UnsoundMessage unless so many bytes from the place on lie in the message */
  private require(place: number, bytes: number): void {
    if (place < this.start || place + bytes > this.end) throw new UnsoundMessage();
  }
}
