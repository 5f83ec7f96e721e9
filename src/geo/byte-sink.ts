import { copyBytes, writeText } from "./short-bytes.js";

/** A growable buffer for formats with integers of either byte order: PostgreSQL's binary COPY, WKB, shapefiles. */
export class ByteSink {
  private bytes: Buffer;
  private view: DataView;
  length = 0;

  constructor(private readonly initialBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(initialBytes);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Grows the buffer if `more` bytes do not fit. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  int16(value: number): void {
    this.reserve(2);
    this.view.setInt16(this.length, value);
    this.length += 2;
  }

  int32(value: number): void {
    this.reserve(4);
    this.view.setInt32(this.length, value);
    this.length += 4;
  }

  /** A whole number from 0 to 2^53. */
  uint53(value: number): void {
    this.reserve(8);
    this.view.setUint32(this.length, Math.floor(value / 2 ** 32));
    this.view.setUint32(this.length + 4, value >>> 0);
    this.length += 8;
  }

  /** Overwrites four bytes at offset `at`, big-endian. */
  patchInt32(at: number, value: number): void {
    this.view.setInt32(at, value);
  }

  uint32Little(value: number): void {
    this.reserve(4);
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }

  /** Overwrites four bytes at offset `at`, little-endian. */
  patchUint32Little(at: number, value: number): void {
    this.view.setUint32(at, value, true);
  }

  doubleLittle(value: number): void {
    this.reserve(8);
    this.view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  /** Overwrites eight bytes at offset `at`, little-endian. */
  patchDoubleLittle(at: number, value: number): void {
    this.view.setFloat64(at, value, true);
  }

  pointLittle(x: number, y: number): void {
    this.reserve(16);
    this.view.setFloat64(this.length, x, true);
    this.view.setFloat64(this.length + 8, y, true);
    this.length += 16;
  }

  /** Whether the points (16 bytes each) at the two offsets are equal. */
  samePoints(first: number, second: number): boolean {
    return this.bytes.compare(this.bytes, first, first + 16, second, second + 16) === 0;
  }

  utf8(text: string): void {
    // A UTF-16 unit has at most three bytes in UTF-8.
    this.reserve(text.length * 3);
    this.length += writeText(this.bytes, this.length, text);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Appends what another sink holds from offset `start` on. */
  appendFrom(source: ByteSink, start: number): void {
    const count = source.length - start;
    this.reserve(count);
    copyBytes(source.bytes, start, this.bytes, this.length, count);
    this.length += count;
  }

  /** The four bytes at offset `at`, little-endian. */
  readUint32Little(at: number): number {
    return this.view.getUint32(at, true);
  }

  /** The bytes from offset `start` on, as a view that is valid until the next write. */
  from(start: number): Buffer {
    return this.bytes.subarray(start, this.length);
  }

  /** Removes the first `count` bytes and returns them. The caller owns them. */
  take(count: number): Buffer {
    const taken = this.bytes.subarray(0, count);
    const rest = this.bytes.subarray(count, this.length);
    this.bytes = Buffer.allocUnsafeSlow(Math.max(this.initialBytes, rest.length));
    this.view = new DataView(this.bytes.buffer);
    rest.copy(this.bytes);
    this.length = rest.length;
    return taken;
  }
}
