import { badRequest, tooLarge } from "./errors.js";

/** Parses JSON bodies under the rules of the API: UTF-8, at most 100 levels, finite numbers, text that PostgreSQL can store. */

const maxDepth = 100;
const unstorable = /[\0\p{Surrogate}]/u;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes UTF-8; a byte order mark at the start is dropped.
 * @throws Failure bad_request
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badRequest("The body is not valid UTF-8.");
  }
}

/** Size limits of a JSON text. */
export interface JsonLimits {
  /** Members of all objects together. */
  readonly members: number;
  /** Members of objects and items of arrays. */
  readonly values: number;
  /** What the parsed value may take, as it is estimated before; absent = any. */
  readonly memoryBytes?: number;
}

/**
 * Parses a JSON body. The last of duplicate keys is used; `__proto__` becomes an own property like any other.
 * @throws Failure too_large when it takes more memory than it may; bad_request when it is not valid JSON, too deep, exceeds
 *   the other limits, or contains a non-finite number, NUL
 *   or an unpaired surrogate
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits): unknown {
  requireWithinLimits(limits, bytes);
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
  // Decoding UTF-8 and parsing have refused these characters already, except as escapes.
  check(value, text.includes("\\u"));
  return value;
}

/**
 * Parses a list: a JSON array, or JSON values in lines of their own, of which blank ones are left out.
 * @throws Failure as `parseJson`; bad_request for any other JSON
 */
export function parseJsonList(bytes: Uint8Array, limits: JsonLimits): unknown[] {
  const start = bytes.findIndex((byte) => byte > 0x20 && byte < 0x80);
  if (bytes[start] === 0x5b) return parseJson(bytes, limits) as unknown[];
  requireWithinLimits(limits, bytes);
  const values: unknown[] = [];
  for (const [index, line] of decodeUtf8(bytes).split("\n").entries()) {
    if (line.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw badRequest(`Line ${index + 1} of the body is not valid JSON.`);
    }
    check(value, line.includes("\\u"));
    values.push(value);
  }
  return values;
}

const quote = 0x22;
const backslash = 0x5c;

/** Counts members and values before parsing, which is much faster and needs no memory. */
function requireWithinLimits(limits: JsonLimits, bytes: Uint8Array): void {
  let members = 0;
  let values = 0;
  let depth = 0;
  let opened = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        while (++at < bytes.length && bytes[at] !== quote) if (bytes[at] === backslash) at++;
        break;
      case 0x3a: // :
        if (++members > limits.members) throw tooMany(limits.members, "named values");
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth) throw badRequest(`The body is nested deeper than ${maxDepth} levels.`);
        if (++values > limits.values) throw tooMany(limits.values, "values");
        opened++;
        break;
      case 0x2c: // ,
        if (++values > limits.values) throw tooMany(limits.values, "values");
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
    }
  }
  const { memoryBytes = Number.POSITIVE_INFINITY } = limits;
  if (2 * bytes.length + opened * openedBytes + values * valueBytes > memoryBytes)
    throw tooLarge("The body has more objects and arrays than the server has memory for.");
}

/** Upper bounds of what V8 takes for an object or array, and for its place in another one, while that grows. */
const openedBytes = 80;
const valueBytes = 16;

const tooMany = (limit: number, items: string) => badRequest(`The body has more than ${limit} ${items}.`);

/** Refuses values that JSON.parse accepts and the API does not. The depth was checked before. */
function check(value: unknown, hasEscapes: boolean): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw badRequest("The body has a number that is too large.");
  } else if (typeof value === "string") {
    if (hasEscapes) checkText(value);
  } else if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      for (const item of value) check(item, hasEscapes);
    } else {
      for (const [key, item] of Object.entries(value)) {
        if (hasEscapes) checkText(key);
        check(item, hasEscapes);
      }
    }
  }
}

function checkText(text: string): void {
  if (unstorable.test(text))
    throw badRequest("The body has text that is not valid Unicode, or a NUL character.");
}
