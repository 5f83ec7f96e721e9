import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { refused } from "../refusal.js";

/** Reads a file from its beginning to its end in pieces of known lengths. */

const windowBytes = 1024 ** 2;
/** Bound on one piece: an object with as many vertices as one may have. */
const maxPieceBytes = 192 * 1024 ** 2;

export class PieceReader {
  private bytes = Buffer.alloc(0);
  private begin = 0;
  private from = 0;

  private constructor(
    private readonly file: number,
    readonly size: number,
  ) {}

  static async use<T>(path: string, read: (pieces: PieceReader) => Promise<T>): Promise<T> {
    const file = openSync(path, "r");
    try {
      return await read(new PieceReader(file, fstatSync(file).size));
    } finally {
      closeSync(file);
    }
  }

  /** Where the next piece begins. */
  get at(): number {
    return this.from + this.begin;
  }

  /** Whether the file has that many bytes more. */
  has(length: number): boolean {
    return length <= this.size - this.at;
  }

  /**
   * The next bytes, which stay valid until the next call of `next` or `peek`.
   * @throws Refusal for pieces that the file does not have, or that are too large
   */
  next(length: number): Buffer {
    const piece = this.peek(length);
    this.begin += length;
    return piece;
  }

  /** As `next`, but the piece stays the next one. */
  peek(length: number): Buffer {
    if (!this.has(length)) throw refused("The file is damaged: it ends too early.");
    if (length > maxPieceBytes) throw refused("The file has an object of more than 192 MB.");
    if (this.begin + length > this.bytes.length) this.fill(length);
    return this.bytes.subarray(this.begin, this.begin + length);
  }

  private fill(length: number): void {
    const { at } = this;
    const wanted = Math.min(Math.max(length, windowBytes), this.size - at);
    // A piece may be larger than the window; the buffer for it goes with it.
    if (this.bytes.length !== wanted) this.bytes = Buffer.allocUnsafeSlow(wanted);
    let read = 0;
    while (read < wanted) {
      const more = readSync(this.file, this.bytes, read, wanted - read, at + read);
      if (more === 0) throw refused("The file is damaged: it ends too early.");
      read += more;
    }
    this.from = at;
    this.begin = 0;
  }
}
