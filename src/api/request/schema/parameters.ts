import { z } from "zod";
import { badRequest } from "../../../errors.js";
import type { Parameters } from "../../../http/types.js";
import { type Refuse, ruled } from "./schema.js";

/**
 * Parameters of queries, forms and headers: strings, validated and converted to typed values. An empty one counts as
 * absent; an invalid one is a bad request whose message names it.
 */

/** Fields of a body (form or JSON) as parameters: numbers and booleans as strings, arrays joined by commas. */
export function parametersOf(record: Readonly<Record<string, unknown>>): Parameters {
  const get = (name: string): string | undefined => {
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (value === undefined || value === null) return undefined;
    return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : String(value);
  };
  return { get, has: (name) => get(name) !== undefined, names: () => Object.keys(record) };
}

/**
 * Two sets of parameters, of which the first takes precedence. An empty value is used only if the other set has none.
 */
export const firstOf = (one: Parameters, other: Parameters): Parameters => ({
  get: (name) => one.get(name) || (other.get(name) ?? one.get(name)),
  has: (name) => one.has(name) || other.has(name),
  names: () => new Set([...one.names(), ...other.names()]),
});

/** A string of at most `most` characters. */
export const text = (description: string, most = 10_000) =>
  z.string().max(most, `has at most ${most} characters`).describe(description);

/** An integer, also with an exponent: 1000, 1e3. */
const wholeNumber = /^[+-]?\d+(?:e\+?\d{1,2})?$/i;

/** An integer from `least` (default 0) to `most`. */
export function integer(
  description: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { least?: number; most?: number } = {},
) {
  const what =
    most === Number.MAX_SAFE_INTEGER
      ? `must be a whole number, at least ${least}`
      : `must be a whole number from ${least} to ${most}`;
  const toNumber = (given: unknown) => (wholeNumber.test(String(given)) ? Number(given) : given);
  return z.preprocess(toNumber, z.int(what).min(least, what).max(most, what)).describe(description);
}

const flags = new Map<unknown, 0 | 1 | boolean>([
  ["0", 0],
  ["1", 1],
  ["false", false],
  ["true", true],
]);

/** 1 or 0, also true or false; absent = false. */
export const flag = (description: string) =>
  z
    .preprocess(
      (given) => flags.get(String(given).toLowerCase()),
      z.literal([0, 1, true, false], "must be 1 or 0"),
    )
    .transform(Boolean)
    .default(false)
    .describe(description);

/** One of several values; the first is the default. */
export function choice<const Word extends string | number>(
  description: string,
  words: readonly [Word, ...Word[]],
  { what = `must be one of ${words.join(", ")}`, refuse }: { what?: string; refuse?: Refuse } = {},
) {
  const byText = new Map<unknown, Word>(words.map((word) => [String(word), word]));
  const schema = z.preprocess((given) => byText.get(given), z.literal(words, what));
  return ruled(schema, refuse ? { refuse } : {})
    .default(words[0])
    .describe(description);
}

/** An EPSG code: 4326 (default) or 3857. */
export const srid = (description: string) =>
  choice(description, [4326, 3857], { what: "must be 4326 or 3857" });

/** The parts of a separated list, also empty ones. Splitting stops beyond the maximum. */
export const list = ({ separator, most }: { readonly separator: string; readonly most: number }) =>
  z
    .string()
    .transform((given) => given.split(separator, most + 1))
    .refine((parts) => parts.length <= most, `has at most ${most} members`);

/** An object's id in a path. @throws Failure bad_request */
export function objectId(segment: string | undefined): number {
  const id = segment !== undefined && /^-?\d{1,16}$/.test(segment) ? Number(segment) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw badRequest("The id of an object must be a whole number.");
  return id;
}
