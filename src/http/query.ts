import { badRequest } from "../errors.js";
import type { Parameters } from "./types.js";

/** Parses query strings and urlencoded bodies. */

/** Upper bound on the number of parameters. */
const maxParameters = 1000;

function decode(text: string): string {
  let decoded = text;
  if (text.includes("+")) decoded = decoded.replaceAll("+", " ");
  if (text.includes("%")) {
    try {
      decoded = decodeURIComponent(decoded);
    } catch {
      throw badRequest("A parameter has invalid percent-encoding.");
    }
  }
  if (decoded.includes("\0")) throw badRequest("A parameter contains a NUL character.");
  return decoded;
}

/**
 * Parses `a=1&b=2`; the first of repeated names is used.
 * @throws Failure bad_request when the encoding is invalid or there are more than `maxParameters`
 */
export function parseParameters(text: string): Map<string, string> {
  const found = new Map<string, string>();
  if (text === "") return found;
  // The server library replaces invalid UTF-8 by U+FFFD.
  if (text.includes("\ufffd")) throw badRequest("A parameter is not valid UTF-8.");
  let count = 0;
  for (let start = 0; start <= text.length; ) {
    let end = text.indexOf("&", start);
    if (end === -1) end = text.length;
    if (end > start) {
      if (++count > maxParameters) throw badRequest(`More than ${maxParameters} parameters.`);
      const pair = text.slice(start, end);
      const equals = pair.indexOf("=");
      const name = decode(equals === -1 ? pair : pair.slice(0, equals));
      if (!found.has(name)) found.set(name, equals === -1 ? "" : decode(pair.slice(equals + 1)));
    }
    start = end + 1;
  }
  return found;
}

const noParameters: Parameters = { get: () => undefined, has: () => false, names: () => [] };

/**
 * Parses a query string for handlers.
 * @throws Failure bad_request as `parseParameters`
 */
export function parseQuery(text: string): Parameters {
  if (text === "") return noParameters;
  const found = parseParameters(text);
  return {
    get: (name) => found.get(name),
    has: (name) => found.has(name),
    names: () => found.keys(),
  };
}
