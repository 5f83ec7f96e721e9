import { isAscii, isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { likeliestEncoding } from "./letter-statistics.js";

/** Finds the encoding of a text from its bytes. */

const chunkBytes = 1024 ** 2;
/** Bytes that the statistics of letters are made of. */
const sampleBytes = 65_536;
/** Text of which at least this share of the characters beyond ASCII is UTF-8, is UTF-8 with faults, such as texts cut to a length. */
const utf8Share = 0.8;

const marks: readonly (readonly [label: string, bytes: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** Takes the bytes of a text piece by piece; what it keeps of them does not grow with the text. */
export class EncodingDetector {
  private begun = false;
  private marked: string | undefined;
  /** The incomplete UTF-8 character at the end of the last piece. */
  private tail: Buffer = Buffer.alloc(0);
  private valid = 0;
  private invalid = 0;
  private readonly sample: Buffer[] = [];
  private sampled = 0;

  /** Whether more bytes cannot change the result. */
  get isSure(): boolean {
    return this.marked !== undefined;
  }

  add(piece: Buffer): void {
    if (!this.begun) {
      this.begun = true;
      this.marked = markOf(piece) ?? utf16Of(piece);
    }
    if (this.marked !== undefined || (isAscii(piece) && this.tail.length === 0)) return;
    const bytes = this.tail.length === 0 ? piece : Buffer.concat([this.tail, piece]);
    const end = bytes.length - incompleteBytes(bytes);
    this.tail = Buffer.from(bytes.subarray(end));
    this.count(bytes.subarray(0, end));
    this.keep(bytes.subarray(0, end));
  }

  /** The label for `TextDecoder`. */
  result(): string {
    if (this.marked !== undefined) return this.marked;
    const invalid = this.invalid + this.tail.length;
    if (this.valid >= (this.valid + invalid) * utf8Share) return "utf-8";
    return likeliestEncoding(Buffer.concat([...this.sample, this.tail]));
  }

  /** Counts the characters beyond ASCII that are UTF-8, and the bytes that are not. */
  private count(bytes: Buffer): void {
    if (isUtf8(bytes)) {
      if (!isAscii(bytes)) this.valid += countLeads(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; ) {
      const length = lengthOfCharacter(bytes[at]!);
      if (length === 1 && bytes[at]! < 0x80) at++;
      else if (length > 1 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) {
        this.valid++;
        at += length;
      } else {
        this.invalid++;
        at++;
      }
    }
  }

  /** Keeps the part from the line with the first byte beyond ASCII on, until the sample is large enough. */
  private keep(bytes: Buffer): void {
    if (this.sampled >= sampleBytes) return;
    const first = bytes.findIndex((byte) => byte > 0x7f);
    if (first < 0) return;
    const start = Math.max(bytes.lastIndexOf(10, first) + 1, first - 1000);
    const part = Buffer.from(bytes.subarray(start, start + sampleBytes - this.sampled));
    this.sample.push(part);
    this.sampled += part.length;
  }
}

/** The encoding of a file's texts: of those in `first`, and of what begins at `start`. */
export function detectFileEncoding(path: string, start = 0, first: Buffer = Buffer.alloc(0)): string {
  const detector = new EncodingDetector();
  if (first.length > 0) detector.add(first);
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafeSlow(chunkBytes);
    for (let at = start; !detector.isSure; ) {
      const read = readSync(file, buffer, 0, chunkBytes, at);
      if (read === 0) break;
      detector.add(buffer.subarray(0, read));
      at += read;
    }
  } finally {
    closeSync(file);
  }
  return detector.result();
}

/** The encoding of bytes in memory. */
export function detectEncoding(bytes: Buffer): string {
  const detector = new EncodingDetector();
  detector.add(bytes);
  return detector.result();
}

const markOf = (bytes: Buffer): string | undefined =>
  marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte))?.[0];

/** UTF-16 without a mark: the high bytes of Latin (0) and Cyrillic (4) characters always stand on the same side. */
function utf16Of(bytes: Buffer): string | undefined {
  const length = Math.min(bytes.length, sampleBytes) & ~1;
  const high = [0, 0];
  const zeros = [0, 0];
  for (let at = 0; at < length; at++) {
    if (bytes[at] === 0) zeros[at & 1]!++;
    if (bytes[at] === 0 || bytes[at] === 4) high[at & 1]!++;
  }
  const fits = (side: number) => high[side]! > length * 0.3 && zeros[side]! > 50 * zeros[1 - side]!;
  return fits(1) ? "utf-16le" : fits(0) ? "utf-16be" : undefined;
}

const lengthOfCharacter = (lead: number): number =>
  lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;

/** How many bytes at the end begin a character that is not complete. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0x80 && byte < 0xc0) continue;
    return lengthOfCharacter(byte) > back ? back : 0;
  }
  return 0;
}

function countLeads(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte >= 0xc0) count++;
  return count;
}
