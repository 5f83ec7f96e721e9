import { readSync } from "node:fs";
import { Byte, excerpt, skipSpace, valueEnd } from "./json.js";
import { refused } from "./refusal.js";
import { SlidingBuffer } from "./sliding-buffer.js";

/** Initial size of the window. */
const chunkBytes = 4 * 1024 ** 2;
/** Maximum size of a feature or another member of the document. */
const maxValueBytes = 256 * 1024 ** 2;

/** The range of a value in `bytes`; valid until the window moves. */
export interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A sliding window over a JSON file: holds one value at a time, so memory use does not depend on the file's length. */
export class JsonWindow extends SlidingBuffer {
  constructor(file: number) {
    super(
      { read: (buffer, at) => readSync(file, buffer, at, buffer.length - at, null) },
      {
        initialBytes: chunkBytes,
        maxBytes: maxValueBytes,
        tooLarge: () => `One value of the file is larger than ${maxValueBytes / 1024 ** 2} MB.`,
      },
    );
    this.fill();
    // Skips a byte order mark.
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

  /** Consumes the next byte if it is this one. */
  accept(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** Consumes this byte. @throws Refusal when the next byte is another one */
  expect(byte: number): void {
    if (!this.accept(byte)) throw this.unexpected();
  }

  /** Consumes the next value. @throws Refusal when the file ends within it or it is too large */
  value(): Span {
    this.peek();
    for (;;) {
      let after = this.at < this.end ? valueEnd(this.bytes, this.at, this.end) : -1;
      if (after < 0 && this.ended) {
        // Only a number, true, false or null can end with the file.
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
}
