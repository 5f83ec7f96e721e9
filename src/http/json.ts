import { badRequest } from "../errors.js";

/** JSON as the contract takes it: UTF-8, at most 100 levels deep, finite numbers, text that a database can hold. */

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

/** How much a JSON text may hold. */
export interface JsonLimits {
  /** Members of all objects together. */
  readonly members: number;
  /** Members of objects and items of arrays. */
  readonly values: number;
}

/**
 * Parses a JSON body. Of duplicate keys the last counts; `__proto__` becomes an own property like any other.
 * @throws Failure bad_request when it does not parse, is too deep, holds more than the limits, or a non-finite number,
 *   a NUL or half of a surrogate pair
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits): unknown {
  requireWithin(limits, bytes);
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
  // Only escapes can bring in what decoding UTF-8 and parsing have not refused already.
  check(value, text.includes("\\u"));
  return value;
}

const quote = 0x22;
const backslash = 0x5c;

/** Counts what a parser would have to make, in a small part of the time that making it would take. */
function requireWithin(limits: JsonLimits, bytes: Uint8Array): void {
  let members = 0;
  let values = 0;
  let depth = 0;
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
}

const tooMany = (most: number, what: string) => badRequest(`The body holds more than ${most} ${what}.`);

/** What the parser lets pass and the contract does not. Depth was checked before. */
function check(value: unknown, escapes: boolean): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw badRequest("The body holds a number that is too large.");
  } else if (typeof value === "string") {
    if (escapes) checkText(value);
  } else if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) {
      for (const item of value) check(item, escapes);
    } else {
      for (const [key, item] of Object.entries(value)) {
        if (escapes) checkText(key);
        check(item, escapes);
      }
    }
  }
}

function checkText(text: string): void {
  if (unstorable.test(text))
    throw badRequest("The body holds text that is no valid Unicode, or a NUL character.");
}
