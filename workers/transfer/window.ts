import { readSync } from "node:fs";
import { Byte, excerpt, skipSpace, valueEnd } from "./json.js";
import { refused } from "./refusal.js";

/** Bytes read at a time. */
const chunkBytes = 4 * 1024 ** 2;
/** One feature, or one other member of the document, may not be larger. */
const maxValueBytes = 256 * 1024 ** 2;

/** A value's place in `bytes`, good until the window moves on. */
export interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A moving window over a file of JSON: holds one value at a time, so memory does not depend on the file's length. */
export class JsonWindow {
  private bytes = Buffer.allocUnsafeSlow(chunkBytes);
  private at = 0;
  private end = 0;
  private ended = false;

  constructor(private readonly file: number) {
    this.fill();
    // A byte order mark is allowed and means nothing.
    if (this.end >= 3 && this.bytes[0] === 0xef && this.bytes[1] === 0xbb && this.bytes[2] === 0xbf)
      this.at = 3;
  }

  /** The next byte that is no white space; -1 at the end of the file. */
  peek(): number {
    for (;;) {
      this.at = skipSpace(this.bytes, this.at, this.end);
      if (this.at < this.end) return this.bytes[this.at]!;
      if (this.ended) return -1;
      this.fill();
    }
  }

  /** Passes over the next byte if it is this one. */
  accept(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** @throws Refusal when another byte comes */
  expect(byte: number): void {
    if (!this.accept(byte)) throw this.unexpected();
  }

  /** Passes over the next value. @throws Refusal when the file ends before it does or it is too large */
  value(): Span {
    this.peek();
    for (;;) {
      let after = this.at < this.end ? valueEnd(this.bytes, this.at, this.end) : -1;
      if (after < 0 && this.ended) {
        // Only a bare number or word can end with the file.
        const first = this.bytes[this.at];
        const open = first === Byte.quote || first === Byte.openArray || first === Byte.openObject;
        if (open || this.at === this.end) throw refused("The file ends too early.");
        after = this.end;
      }
      if (after >= 0) {
        const start = this.at;
        if (after === start) throw this.unexpected();
        this.at = after;
        return { bytes: this.bytes, start, end: after };
      }
      this.fill();
    }
  }

  unexpected(): Error {
    if (this.peek() === -1) return refused("The file ends too early.");
    return refused(
      `The file is not valid JSON near ${JSON.stringify(excerpt(this.bytes, this.at, this.end))}.`,
    );
  }

  private fill(): void {
    const kept = this.end - this.at;
    if (kept > maxValueBytes)
      throw refused(`One value of the file is larger than ${maxValueBytes / 1024 ** 2} MB.`);
    // Doubling keeps the repeated search for the end of a large value linear.
    if (kept > this.bytes.length / 2) {
      const larger = Buffer.allocUnsafeSlow(this.bytes.length * 2);
      this.bytes.copy(larger, 0, this.at, this.end);
      this.bytes = larger;
    } else this.bytes.copyWithin(0, this.at, this.end);
    this.at = 0;
    this.end = kept;
    const read = readSync(this.file, this.bytes, this.end, this.bytes.length - this.end, null);
    if (read === 0) this.ended = true;
    this.end += read;
  }
}
