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

/**
 * Parses a JSON body. Of duplicate keys the last counts; `__proto__` becomes an own property like any other.
 * @throws Failure bad_request when it does not parse, is too deep, or holds a non-finite number, a NUL or half of a
 *   surrogate pair
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
  // Only escapes can bring in what decoding UTF-8 and parsing have not refused already.
  check(value, 0, text.includes("\\u"));
  return value;
}

function check(value: unknown, depth: number, escapes: boolean): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw badRequest("The body holds a number that is too large.");
  } else if (typeof value === "string") {
    if (escapes) checkText(value);
  } else if (typeof value === "object" && value !== null) {
    if (depth === maxDepth) throw badRequest(`The body is nested deeper than ${maxDepth} levels.`);
    if (Array.isArray(value)) {
      for (const item of value) check(item, depth + 1, escapes);
    } else {
      for (const [key, item] of Object.entries(value)) {
        if (escapes) checkText(key);
        check(item, depth + 1, escapes);
      }
    }
  }
}

function checkText(text: string): void {
  if (unstorable.test(text))
    throw badRequest("The body holds text that is no valid Unicode, or a NUL character.");
}
