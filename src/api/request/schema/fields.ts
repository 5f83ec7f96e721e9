import { z } from "zod";
import { codePattern, isStorable, maxTextLength } from "../../../catalog/codes.js";
import { failed, notFound } from "../../../errors.js";
import type { Given } from "./read.js";
import { failing, type JsonSchema, type Refuse, ruled } from "./schema.js";

/** Fields of JSON bodies: values of any kind that become typed ones once, at the edge. */

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What an object itself has under a name, if anything. */
export const own = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** The fields of an object, for a reader. */
export const fieldsOf = (object: JsonObject): Given => ({ get: (name) => own(object, name) });

export const invalid: Refuse = (name, what) =>
  failed("invalid_value", `${name} ${what}.`, { parameter: name });

const storable = "is too long or holds characters that cannot be stored";

/** A text that can be stored. Else invalid_value. */
export const text = (description: string) =>
  ruled(z.string("must be a string").max(maxTextLength, storable).refine(isStorable, storable), {
    refuse: invalid,
    blanks: [null],
  }).describe(description);

/** The code of a map, folder or layer, which is yet to be checked. Else invalid_value. */
export const code = (description: string) => text(description).meta({ pattern: codePattern.source });

/** A number that is written as text, as a number. */
export const toNumber = (given: unknown): unknown =>
  typeof given === "string" && given !== "" ? Number(given) : given;

/** A finite number, or one written as text. Else a bad request. */
export const number = (description: string) =>
  z.preprocess(toNumber, z.number("must be a number")).describe(description);

/** A whole number, or one written as text. Else a bad request. */
export const integer = (description: string) =>
  ruled(z.preprocess(toNumber, z.number("must be a number").int("must be a whole number")), {
    blanks: [null],
  }).describe(description);

const flags = new Map<unknown, boolean>([
  [true, true],
  [1, true],
  ["1", true],
  ["true", true],
  [false, false],
  [0, false],
  ["0", false],
  ["false", false],
]);

/** true, false, 1, 0 and their texts. Else a bad request. */
export const flag = (description: string) =>
  ruled(
    z.preprocess((given) => flags.get(given), z.boolean("is 1 or 0")),
    { blanks: [null] },
  ).describe(description);

/** The id of a parent in the tree of layers: a number, or one written as text. Anything else is answered as an id that does not exist. */
export const parent = (description: string) =>
  ruled(integer(description), { refuse: () => notFound("parent of that id"), blanks: [null, ""] });

/** As `parent`, for elements that are changed. Without it, there is no such parent either. */
export const neededParent = (description: string) =>
  ruled(parent(description), { absent: () => notFound("parent: parent_id is required") });

/** Longest style that is looked at, in UTF-16 units. */
const maxStyleLength = 1_000_000;

const badStyle = () =>
  failed("invalid_style", "The style is too long or holds characters that no style has.");

/** A style that is yet to be compiled; "" when it is blank. Else invalid_value, invalid_style. */
export const style = (description: string) =>
  ruled(
    z
      .string("must be a string")
      .refine((given) => given.length <= maxStyleLength && isStorable(given), failing(badStyle))
      .transform((given) => (given.trim() === "" ? "" : given)),
    { refuse: invalid, blanks: [null] },
  ).meta({ description, contentMediaType: "text/css", maxLength: maxStyleLength });

/**
 * Values of any kind, null too, which the handler checks: what they may be depends on the layer or on other fields (names,
 * formats, geometries, values of objects), which a schema does not know.
 */
export const anything = <Out = unknown>(description: string, schema: JsonSchema) =>
  ruled(
    z.custom<Out>((given) => given !== undefined),
    { blanks: [] },
  ).meta({ description, ...schema });
