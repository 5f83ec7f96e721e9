import { refused } from "./refusal.js";

/** Where a `SlidingBuffer` gets its bytes from. */
export interface ByteSource {
  /** Writes the next bytes into the buffer from `at` on; returns their number, 0 at the end. */
  read(buffer: Buffer, at: number): number;
}

export interface SlidingOptions {
  readonly initialBytes: number;
  readonly maxBytes: number;
  /** The error's text when one piece of the file is larger than `maxBytes`. */
  readonly tooLarge: () => string;
}

/** A buffer over a part of a file. It moves on with what was consumed, and grows when one piece of the file needs more. */
export abstract class SlidingBuffer {
  protected bytes: Buffer;
  /** Begin of what was not consumed yet, and end of what was read. */
  protected at = 0;
  protected end = 0;
  /** Whether the file's end was read. */
  protected ended = false;

  protected constructor(
    private readonly source: ByteSource,
    private readonly sliding: SlidingOptions,
  ) {
    this.bytes = Buffer.allocUnsafeSlow(sliding.initialBytes);
  }

  /** Reads on, and keeps what was not consumed. @throws Refusal when that is too large */
  protected fill(): void {
    const kept = this.end - this.at;
    if (kept > this.sliding.maxBytes) throw refused(this.sliding.tooLarge());
    // Doubling keeps the total time linear, since the search for the end of a piece begins again after each read.
    if (kept > this.bytes.length / 2) {
      const larger = Buffer.allocUnsafeSlow(this.bytes.length * 2);
      this.bytes.copy(larger, 0, this.at, this.end);
      this.bytes = larger;
    } else this.bytes.copyWithin(0, this.at, this.end);
    this.at = 0;
    this.end = kept;
    const read = this.source.read(this.bytes, this.end);
    if (read === 0) this.ended = true;
    this.end += read;
  }
}
