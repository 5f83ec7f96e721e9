import { badRequest } from "../errors.js";
import type { Chunks } from "./export-content.js";

/** Character encodings of CSV files: Unicode, and those of one byte for each character. */

export interface CsvEncoding {
  /** Name for the media type. */
  readonly charset: string;
  /** Regular expression of PostgreSQL for the characters that it lacks, which become "?"; absent if it has all. */
  readonly lacking?: string;
  readonly encode: (chunks: Chunks) => Chunks;
}

const utf8: CsvEncoding = { charset: "utf-8", encode: (chunks) => chunks };

const unicode: Readonly<Record<string, CsvEncoding>> = {
  "utf-8": utf8,
  "utf-8-sig": { charset: "utf-8", encode: (chunks) => mapped(chunks, "\ufeff", (text) => text) },
  "utf-16le": {
    charset: "utf-16le",
    encode: (chunks) => mapped(chunks, "\ufeff", (text) => Buffer.from(text, "utf16le")),
  },
};

/** Encodings that are the first characters of Unicode, which the WHATWG takes for another one: name for the media type, size. */
const firstOfUnicode: Readonly<Record<string, readonly [charset: string, characters: number]>> = {
  ascii: ["us-ascii", 128],
  "us-ascii": ["us-ascii", 128],
  "iso-8859-1": ["iso-8859-1", 256],
  latin1: ["iso-8859-1", 256],
};

/**
 * An encoding by its name: "utf-8" (default), "utf-8-sig" (with a byte order mark), "utf-16le" (with one too), "windows-1251"
 * or "cp1251", "cp866", "koi8-r", "iso-8859-1" and others of one byte.
 * @throws Failure bad_request
 */
export function csvEncoding(name: string): CsvEncoding {
  const label = name.trim().toLowerCase();
  if (label === "") return utf8;
  if (Object.hasOwn(unicode, label)) return unicode[label] as CsvEncoding;
  const first = Object.hasOwn(firstOfUnicode, label) ? firstOfUnicode[label] : undefined;
  if (first) return singleByte(first[0], (byte) => (byte < first[1] ? String.fromCharCode(byte) : ""));
  const encoding = whatwgName(label);
  if (encoding !== undefined && Object.hasOwn(unicode, encoding)) return unicode[encoding] as CsvEncoding;
  if (encoding === undefined || /^(utf|gb|big5|euc|shift|iso-2022|x-user|replacement)/.test(encoding))
    throw badRequest(
      "The encoding is unknown. Known are utf-8, utf-8-sig, utf-16le, and those of one byte such as windows-1251, cp866, " +
        "koi8-r and iso-8859-1.",
    );
  const decoder = new TextDecoder(encoding);
  return singleByte(encoding, (byte) => decoder.decode(Uint8Array.of(byte)));
}

function whatwgName(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

const unknown = "?".charCodeAt(0);

/** @param decode the character of a byte; "" or U+FFFD if there is none */
function singleByte(charset: string, decode: (byte: number) => string): CsvEncoding {
  const bytes = new Uint8Array(0x10000).fill(unknown);
  const known: number[] = [];
  for (let byte = 0; byte < 256; byte++) {
    const code = decode(byte).charCodeAt(0);
    if (Number.isNaN(code) || code === 0xfffd) continue;
    bytes[code] = byte;
    known.push(code);
  }
  const toBytes = (text: string) => {
    const buffer = Buffer.allocUnsafe(text.length);
    let length = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      // The second half of a pair: the first one has become "?".
      if (code >= 0xdc00 && code <= 0xdfff) continue;
      buffer[length++] = bytes[code] as number;
    }
    return buffer.subarray(0, length);
  };
  return { charset, lacking: `[^${ranges(known)}]`, encode: (chunks) => mapped(chunks, "", toBytes) };
}

/** Character codes without 0 as ranges in a bracket expression of PostgreSQL. */
function ranges(codes: readonly number[]): string {
  const sorted = codes.filter((code) => code > 0).sort((one, other) => one - other);
  const escaped = (code: number) => `\\u${code.toString(16).padStart(4, "0")}`;
  let text = "";
  for (let from = 0, to = 0; from < sorted.length; from = ++to) {
    while (sorted[to + 1] === sorted[to]! + 1) to++;
    text += `${escaped(sorted[from]!)}-${escaped(sorted[to]!)}`;
  }
  return text;
}

/** Not a generator: `return` of a generator that has not started does not reach `chunks`. */
function mapped(chunks: Chunks, opening: string, map: (text: string) => string | Uint8Array): Chunks {
  const source = chunks[Symbol.asyncIterator]();
  let before = opening;
  // A chunk of bytes may end within a character.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const iterator: AsyncIterableIterator<string | Uint8Array> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      const result = await source.next();
      if (result.done) return result;
      const { value } = result;
      const text = before + (typeof value === "string" ? value : decoder.decode(value, { stream: true }));
      before = "";
      return { done: false, value: map(text) };
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return iterator;
}
