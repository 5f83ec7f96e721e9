import { z } from "zod";
import type { ValueType } from "../column-types/column-types.js";
import type { Notation } from "../hosts/import-messages.js";
import { wrongValue } from "../wrong-value.js";
import { jsonOf, refuseParameter } from "./json-parameter.js";

/** What an import is told of the properties of a file, as the parameters `columns` and `coordinates` have it. */

/** Types that an import can give a column. */
export const importedTypes = [
  "number",
  "string",
  "text",
  "datetime",
  "bool",
  "json",
] as const satisfies readonly Exclude<ValueType, "file">[];

const plain = { plain: "loose" } as const;
/** How texts of a type may be written, by the names that the API has for it; `plain` is as the API writes values itself. */
const notationsByType: Readonly<Partial<Record<ValueType, Readonly<Record<string, Notation>>>>> = {
  number: { ...plain, decimal_comma: "decimal comma", grouped: "grouped" },
  datetime: { ...plain, day_first: "day first", month_first: "month first", year_first: "year first" },
  bool: plain,
};

/** The notations that texts of a type may have; none = all texts are values of it. */
export const notationsOf = (type: ValueType): readonly Notation[] =>
  Object.values(notationsByType[type] ?? {});

/** What the API calls a notation. */
export const notationName = (notation: Notation): string =>
  notation === "loose" ? "plain" : notation.replace(" ", "_");

export interface ColumnChoice {
  /** What the property is taken to be called. */
  readonly name?: string | undefined;
  readonly type?: (typeof importedTypes)[number] | undefined;
  /** Only with a type that has it; absent = the one that fits most values. */
  readonly notation?: Notation | undefined;
}

/** By the names of properties in the file; null = it is left out. */
export type ColumnChoices = ReadonlyMap<string, ColumnChoice | null>;

/** Properties that a file may have. */
const mostChoices = 1_000;
const longestName = 1_000;
const unstorable = /[\0\p{Surrogate}]/u;

const nameSchema = z
  .string()
  .trim()
  .min(1, "must not be empty")
  .max(longestName)
  .refine((name) => !unstorable.test(name), "has characters that cannot be stored");

const choiceSchema = z.strictObject(
  {
    name: nameSchema.optional(),
    type: z.enum(importedTypes).optional(),
    notation: z.string().optional(),
  },
  {
    error: ({ code }) =>
      code === "unrecognized_keys" ? "has no other members than name, type and notation" : undefined,
  },
);

/** @throws Failure invalid_value */
export function readColumnChoices(text: string): ColumnChoices {
  const refuse = (problem: string) => refuseParameter("columns", problem);
  const given = jsonOf(text);
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw refuse('must be a JSON object, such as {"name in the file": {"type": "string"}}');
  const entries = Object.entries(given);
  if (entries.length > mostChoices) throw refuse(`names at most ${mostChoices} columns`);
  return new Map(
    entries.map(([name, value]) => {
      if (value === null) return [name, null] as const;
      const read = choiceSchema.safeParse(value, { error: wrongValue });
      if (read.success) return [name, withNotation(name, read.data)] as const;
      const [{ path, message }] = read.error.issues as [z.core.$ZodIssue];
      const member = path.length > 0 ? `the ${path.join(".")} of ` : "";
      throw refuseParameter("columns", `are wrong: ${member}${quoted(name)} ${message}`);
    }),
  );
}

function withNotation(
  name: string,
  { notation, type, ...choice }: z.infer<typeof choiceSchema>,
): ColumnChoice {
  if (notation === undefined) return { ...choice, type };
  const known = (type && notationsByType[type]) ?? {};
  if (Object.hasOwn(known, notation)) return { ...choice, type, notation: known[notation] };
  const names = Object.keys(known);
  throw refuseParameter(
    "columns",
    names.length > 0
      ? `are wrong: the notation of ${quoted(name)} must be one of ${names.join(", ")}`
      : `are wrong: a notation, as of ${quoted(name)}, goes with the types number, datetime and bool only`,
  );
}

/**
 * Reads the names of the columns with coordinates: east and north, or the one with geometry; none = there are none.
 * @throws Failure invalid_value
 */
export function readCoordinateNames(text: string): readonly string[] {
  const read = z.array(z.string().max(longestName)).max(2).safeParse(jsonOf(text));
  if (!read.success)
    throw refuseParameter(
      "coordinates",
      'must be a JSON array of two names, one or none, such as ["lon", "lat"]',
    );
  const [x, y] = read.data;
  if (x !== undefined && x === y) throw refuseParameter("coordinates", "names the same column twice");
  return read.data;
}

const quoted = (name: string): string => `"${name.slice(0, 100)}"`;
