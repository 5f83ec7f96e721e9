import { isUtf8 } from "node:buffer";
import { refused } from "./refusal.js";

/**
 * Scans JSON in bytes: finds values without parsing them, so that files of any length can be read in pieces and numbers
 * keep all their digits.
 */

/** Maximum nesting of arrays and objects. */
const maxDepth = 100;

export const Byte = {
  tab: 0x09,
  lineFeed: 0x0a,
  return: 0x0d,
  recordSeparator: 0x1e,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openArray: 0x5b,
  backslash: 0x5c,
  closeArray: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

const isSpace = (byte: number): boolean =>
  byte === Byte.space || byte === Byte.lineFeed || byte === Byte.return || byte === Byte.tab;

/** Index of the next byte that is no white space, at most `end`. */
export function skipSpace(bytes: Buffer, at: number, end: number): number {
  while (at < end && isSpace(bytes[at]!)) at++;
  return at;
}

/** Index after the string that begins at `at`, or -1 when the bytes end before it does. */
function stringEnd(bytes: Buffer, at: number, end: number): number {
  // Most strings are short, where a search by the runtime costs more than it saves.
  const near = Math.min(end, at + 64);
  for (let quote = at + 1; quote < near; quote++) {
    const byte = bytes[quote]!;
    if (byte === Byte.quote) return quote + 1;
    if (byte === Byte.backslash) quote++;
  }
  for (let quote = at; ; ) {
    quote = bytes.indexOf(Byte.quote, quote + 1);
    if (quote < 0 || quote >= end) return -1;
    let slashes = 0;
    while (bytes[quote - 1 - slashes] === Byte.backslash) slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
}

/**
 * Index after the value that begins at `at`, or -1 when the bytes end before it does. Brackets are matched by depth only;
 * the caller checks the content.
 */
export function valueEnd(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]!;
  if (first === Byte.quote) return stringEnd(bytes, at, end);
  if (first !== Byte.openObject && first !== Byte.openArray) {
    while (at < end) {
      const byte = bytes[at]!;
      if (byte === Byte.comma || byte === Byte.closeObject || byte === Byte.closeArray || isSpace(byte))
        return at;
      at++;
    }
    return -1;
  }
  let depth = 0;
  while (at < end) {
    const byte = bytes[at]!;
    if (byte === Byte.quote) {
      at = stringEnd(bytes, at, end);
      if (at < 0) return -1;
      continue;
    }
    at++;
    if (byte === Byte.openArray || byte === Byte.openObject) {
      if (++depth > maxDepth) throw refused(`The file is nested deeper than ${maxDepth} levels.`);
    } else if (byte === Byte.closeArray || byte === Byte.closeObject) {
      if (--depth === 0) return at;
    }
  }
  return -1;
}

const invalidJson = (bytes: Buffer, at: number, end: number): Error =>
  refused(`The file is not valid JSON near ${JSON.stringify(excerpt(bytes, at, end))}.`);

/** A few characters of the file for a message. */
export const excerpt = (bytes: Buffer, at: number, end: number): string =>
  bytes.toString("utf8", at, Math.min(at + 24, end));

/** The text between two positions. @throws Refusal when it is not UTF-8 */
function textAt(bytes: Buffer, start: number, end: number): string {
  if (!isUtf8(bytes.subarray(start, end))) throw refused("The file is not UTF-8.");
  return bytes.toString("utf8", start, end);
}

/** Parses the value between two positions. @throws Refusal when it is not JSON */
export function parseAt(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(textAt(bytes, start, end)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw invalidJson(bytes, start, end);
    throw error;
  }
}

/** Parses the string between two positions, which include its quotes. */
export function stringAt(bytes: Buffer, start: number, end: number): string {
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at]!;
    // Escapes, control characters and non-ASCII bytes need the full parser.
    if (byte === Byte.backslash || byte < Byte.space || byte > 0x7e)
      return parseAt(bytes, start, end) as string;
  }
  return bytes.toString("latin1", start + 1, end - 1);
}

/**
 * As `stringAt`, of names that come again in each object: they are not made anew. Escapes are rare in them.
 */
export function nameAt(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > maxKnownLength) return stringAt(bytes, start, end);
  const slot =
    (length * 31 + bytes[start + 1]! * 7 + bytes[end - 2]! * 13 + bytes[start + (length >> 1)]!) & 255;
  const known = knownNames[slot];
  if (known && isSame(bytes, start, known.bytes, length)) return known.name;
  const name = stringAt(bytes, start, end);
  knownNames[slot] = { bytes: Uint8Array.prototype.slice.call(bytes, start, end), name };
  return name;
}

const maxKnownLength = 64;
/** With their quotes. */
const knownNames: ({ readonly bytes: Uint8Array; readonly name: string } | undefined)[] = new Array(256).fill(
  undefined,
);

function isSame(bytes: Buffer, start: number, known: Uint8Array, length: number): boolean {
  if (known.length !== length) return false;
  for (let at = 0; at < length; at++) if (bytes[start + at] !== known[at]) return false;
  return true;
}

/** Calls `visit` with the key and the range of the value for each member of the object in [start, end). */
export function eachMember(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (key: string, valueStart: number, valueEnd: number) => void,
): void {
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === Byte.closeObject && at === end - 1) return;
  for (;;) {
    if (bytes[at] !== Byte.quote) throw invalidJson(bytes, at, end);
    const keyEnd = valueEnd(bytes, at, end);
    if (keyEnd < 0) throw invalidJson(bytes, at, end);
    const key = nameAt(bytes, at, keyEnd);
    at = skipSpace(bytes, keyEnd, end);
    if (bytes[at] !== Byte.colon) throw invalidJson(bytes, at, end);
    at = skipSpace(bytes, at + 1, end);
    const after = valueEnd(bytes, at, end);
    if (after <= at) throw invalidJson(bytes, at, end);
    visit(key, at, after);
    at = skipSpace(bytes, after, end);
    if (bytes[at] === Byte.closeObject && at === end - 1) return;
    if (bytes[at] !== Byte.comma) throw invalidJson(bytes, at, end);
    at = skipSpace(bytes, at + 1, end);
  }
}

/** Calls `visit` with the range of each element of the array in [start, end). */
export function eachElement(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (elementStart: number, elementEnd: number) => void,
): void {
  let at = skipSpace(bytes, start + 1, end);
  if (bytes[at] === Byte.closeArray && at === end - 1) return;
  for (;;) {
    const after = valueEnd(bytes, at, end);
    if (after <= at) throw invalidJson(bytes, at, end);
    visit(at, after);
    at = skipSpace(bytes, after, end);
    if (bytes[at] === Byte.closeArray && at === end - 1) return;
    if (bytes[at] !== Byte.comma) throw invalidJson(bytes, at, end);
    at = skipSpace(bytes, at + 1, end);
  }
}
