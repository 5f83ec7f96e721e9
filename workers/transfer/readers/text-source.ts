import { closeSync, openSync, readSync } from "node:fs";
import { refused } from "../refusal.js";
import type { ByteSource } from "../sliding-buffer.js";

/** Reads text files of any encoding as UTF-8, piece by piece. */

const pieceBytes = 256 * 1024;

/** Gives bytes of UTF-8. */
export interface TextSource extends ByteSource {
  close(): void;
}

/** @param encoding a label of `TextDecoder` */
export function openText(path: string, encoding: string): TextSource {
  const file = openSync(path, "r");
  return encoding === "utf-8"
    ? new Utf8Source(file)
    : new DecodedSource(file, new TextDecoder(encoding, { fatal: true }));
}

/** Bytes as they are, without a byte order mark. They may be no valid UTF-8. */
class Utf8Source implements TextSource {
  private begun = false;

  constructor(private readonly file: number) {}

  read(buffer: Buffer, at: number): number {
    let read = readSync(this.file, buffer, at, buffer.length - at, null);
    if (!this.begun && read > 0) {
      this.begun = true;
      if (buffer[at] === 0xef && buffer[at + 1] === 0xbb && buffer[at + 2] === 0xbf) {
        buffer.copyWithin(at, at + 3, at + read);
        read -= 3;
      }
    }
    return read;
  }

  close(): void {
    closeSync(this.file);
  }
}

class DecodedSource implements TextSource {
  private readonly piece = Buffer.allocUnsafeSlow(pieceBytes);
  /** Decoded bytes that did not fit the buffer yet. */
  private rest: Buffer = Buffer.alloc(0);
  private ended = false;

  constructor(
    private readonly file: number,
    private readonly decoder: InstanceType<typeof TextDecoder>,
  ) {}

  read(buffer: Buffer, at: number): number {
    while (this.rest.length === 0 && !this.ended) {
      const read = readSync(this.file, this.piece, 0, pieceBytes, null);
      this.ended = read === 0;
      this.rest = Buffer.from(this.decode(this.piece.subarray(0, read)));
    }
    const length = this.rest.copy(buffer, at);
    this.rest = this.rest.subarray(length);
    return length;
  }

  close(): void {
    closeSync(this.file);
  }

  private decode(bytes: Buffer): string {
    try {
      return this.decoder.decode(bytes, { stream: !this.ended });
    } catch {
      throw refused(`The file is not a text in the encoding ${this.decoder.encoding}.`);
    }
  }
}

/** A text in memory. */
export class BufferSource implements TextSource {
  private rest: Buffer;

  constructor(text: Buffer) {
    this.rest = text;
  }

  read(buffer: Buffer, at: number): number {
    const length = this.rest.copy(buffer, at);
    this.rest = this.rest.subarray(length);
    return length;
  }

  close(): void {
    this.rest = Buffer.alloc(0);
  }
}
