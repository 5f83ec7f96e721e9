import { z } from "zod";
import { codePattern, isStorable, maxTextLength } from "../../../catalog/codes.js";
import type { StartView } from "../../../catalog/state.js";
import { failed, notFound } from "../../../errors.js";
import type { Given } from "./read.js";
import { failing, type JsonSchema, type Refuse, ruled } from "./schema.js";

/** Fields of JSON bodies, validated and converted to typed values. */

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An own property of an object; undefined if there is none. */
export const own = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** The fields of an object, for a reader. */
export const fieldsOf = (object: JsonObject): Given => ({ get: (name) => own(object, name) });

export const invalid: Refuse = (name, what) =>
  failed("invalid_value", `${name} ${what}.`, { parameter: name });

const storable = "is too long or holds characters that cannot be stored";

/** A string that PostgreSQL can store. Else invalid_value. @param most UTF-16 code units */
export const text = (description: string, most?: number) =>
  ruled(
    z
      .string("must be a string")
      .max(most ?? maxTextLength, most === undefined ? storable : `has at most ${most} characters`)
      .refine(isStorable, storable),
    { refuse: invalid, blanks: [null] },
  ).describe(description);

/** Limited because every snapshot of the map in memory contains the settings. */
const maxSettingsLength = 100_000;

/** Settings of a folder or layer: an object of moderate size. Else invalid_value. */
export const settings = ruled(
  z.custom<JsonObject>(
    (given) => isObject(given) && JSON.stringify(given).length <= maxSettingsLength,
    "must be an object of moderate size",
  ),
  { refuse: invalid, blanks: [null] },
)
  .meta({
    description: "Free-form settings of clients, at most 100 kB. The viewer reads its own at `viewer`.",
    type: "object",
    additionalProperties: true,
  })
  .optional();

/** The code of a map, folder or layer; its pattern is checked later. Else invalid_value. */
export const code = (description: string) => text(description).meta({ pattern: codePattern.source });

/** Converts a number that is given as a string. */
export const toNumber = (given: unknown): unknown =>
  typeof given === "string" && given !== "" ? Number(given) : given;

/** A finite number, or a string with one. Else a bad request. */
export const number = (description: string) =>
  z.preprocess(toNumber, z.number("must be a number")).describe(description);

/** An integer, or a string with one. Else a bad request. */
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

/** true, false, 1, 0, or strings with these. Else a bad request. */
export const flag = (description: string) =>
  ruled(
    z.preprocess((given) => flags.get(given), z.boolean("is 1 or 0")),
    { blanks: [null] },
  ).describe(description);

/** 1 or 0, given as a `flag`. Else a bad request. */
export const bit = (description: string) =>
  ruled(
    z.preprocess(
      (given) => {
        const set = flags.get(given);
        return set === undefined ? given : Number(set);
      },
      z.literal([0, 1], "is 1 or 0"),
    ),
    { blanks: [null] },
  ).describe(description);

const notBox =
  "must be null or [west, south, east, north] in degrees, with west from -180 to 180, east up to 360 beyond it, and south and north within ±90";
const isBox = ([west, south, east, north]: readonly number[]): boolean =>
  [-180 <= west!, west! <= 180, west! < east!, east! <= west! + 360].every(Boolean) &&
  [-90 <= south!, south! < north!, north! <= 90].every(Boolean);

/** A box on the earth, or null for none. Else invalid_value. */
export const bounds = (description: string) =>
  ruled(
    z
      .array(z.number(notBox), notBox)
      .length(4, notBox)
      .refine(isBox, notBox)
      .transform(([west, south, east, north]): StartView => [west!, south!, east!, north!])
      .nullable(),
    { refuse: invalid, blanks: [] },
  ).meta({
    description: `${description} West, south, east, north in degrees; east beyond 180 is across that meridian.`,
    examples: [[12.5, 41.8, 12.6, 41.95]],
  });

/** The id of a parent in the layer tree: an integer, or a string with one. Else not_found, as for an unknown id. */
export const parent = (description: string) =>
  ruled(integer(description), { refuse: () => notFound("parent of that id"), blanks: [null, ""] });

/** As `parent`, for changes, which require it. If it is missing: not_found. */
export const neededParent = (description: string) =>
  ruled(parent(description), {
    absent: () =>
      notFound(
        "parent: parent_id is required in changes, by PATCH too; its own, as answers show it, leaves it where it is, and 0, or the map's id, is the map itself",
      ),
  });

/** Maximum length of a style, in UTF-16 code units. */
const maxStyleLength = 1024 ** 2;

const badStyle = () =>
  failed("invalid_style", "The style is too long or holds characters that no style has.");

/** The text of a style, not yet compiled; "" when it is blank. Else invalid_value, invalid_style. */
export const style = (description: string) =>
  ruled(
    z
      .string("must be a string")
      .refine((given) => given.length <= maxStyleLength && isStorable(given), failing(badStyle))
      .transform((given) => (given.trim() === "" ? "" : given)),
    { refuse: invalid, blanks: [null] },
  ).meta({ description, contentMediaType: "text/css", maxLength: maxStyleLength });

/**
 * Any value, also null. The handler validates it, because it depends on the layer or on other fields (names, formats,
 * geometries, values of objects).
 */
export const anything = <Out = unknown>(description: string, schema: JsonSchema) =>
  ruled(
    z.custom<Out>((given) => given !== undefined),
    { blanks: [] },
  ).meta({ description, ...schema });
