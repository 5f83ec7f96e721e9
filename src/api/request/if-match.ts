import { z } from "zod";
import type { Members } from "./schema/schema.js";
import { ruled } from "./schema/schema.js";

/** The header If-Match: for which states of what it changes a request is meant. */

/** Upper bound on the number of tags in If-Match. */
const maxTags = 100;

/**
 * The states that the tags of an If-Match name; undefined = any. Of a tag only what stands before the first `-` counts: the
 * rest tells what else an answer shows, or that it is compressed. The comparison is strong (RFC 9110, 13.1.1), so weak tags
 * and tags of other servers never match.
 */
export function statesIn(given: string): readonly string[] | undefined {
  if (given.trim() === "*") return undefined;
  const found = given.matchAll(/(W\/)?"([^"]*)"/g);
  return [...found]
    .filter(([, weak]) => weak === undefined)
    .slice(0, maxTags)
    .map(([, , tag = ""]) => tag.split("-", 1)[0] ?? "");
}

const header = (what: string, example: string) =>
  ruled(z.string(), { blanks: [] })
    .transform(statesIn)
    .meta({
      description: `Expected ETag of the ${what}. If the ${what} has changed since, the response is 412 and nothing is changed.`,
      examples: [example],
    })
    .optional();

/** Of operations that write objects: handlers read it, and compare versions in the statement that writes. */
export const objectMatchHeaders = { "if-match": header("object", '"4711.90f3b6c2d1e7-x8Qz0a1b"') };

/** Of operations whose `changes` is a resource. */
export const matchHeadersOf = (what: string): Members => ({
  "if-match": header(what, '"5f0c2a9d17b84e63a1c0-x8Qz0a1bYw2kLm4nPq7s"'),
});
