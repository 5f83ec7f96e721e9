import type { Column } from "../catalog/state.js";
import { failed } from "../errors.js";
import { type ColumnFormat, type LocalizedText, type NumberFormat, splitPattern } from "./value-format.js";

/** Column formats (`format` of a column element): their validation. */

const maxTextLength = 200;
const maxLanguages = 100;

/** Pattern tokens of timestamps (as in Unicode TR 35); other letters must be quoted. */
const patternTokens = [
  "yyyy",
  "yy",
  "MMMM",
  "MMM",
  "MM",
  "M",
  "dd",
  "d",
  "EEEE",
  "EEE",
  "HH",
  "H",
  "hh",
  "h",
  "mm",
  "m",
  "ss",
  "s",
  "SSS",
  "a",
] as const;

/**
 * Reads a column format from a request. Unknown members are dropped.
 * @param type type of the column, which the format must match
 * @throws Failure invalid_value
 */
export function readFormat(given: unknown, type: Column["type"]): ColumnFormat {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw refuse("it is an object");
  const fields = given as Readonly<Record<string, unknown>>;
  const kind = own(fields, "kind");
  if (kind !== "number" && kind !== "datetime" && kind !== "bool") {
    throw refuse("its kind is number, datetime or bool");
  }
  if (kind !== type) throw refuse(`its kind must be the column's type, ${type}`);
  if (kind === "number") return readNumberFormat(fields);
  if (kind === "bool") return { kind, ...localizedText(fields, "true"), ...localizedText(fields, "false") };
  const { pattern } = localizedText(fields, "pattern");
  if (pattern === undefined) throw refuse("it needs a pattern");
  for (const text of typeof pattern === "string" ? [pattern] : Object.values(pattern)) requirePattern(text);
  return { kind, pattern };
}

function readNumberFormat(fields: Readonly<Record<string, unknown>>): NumberFormat {
  const decimals = own(fields, "decimals");
  if (
    decimals !== undefined &&
    !(Number.isInteger(decimals) && Number(decimals) >= 0 && Number(decimals) <= 20)
  )
    throw refuse("decimals is a whole number from 0 to 20");
  const grouping = own(fields, "grouping");
  if (grouping !== undefined && typeof grouping !== "boolean") throw refuse("grouping is true or false");
  return {
    kind: "number",
    ...(decimals === undefined ? {} : { decimals: Number(decimals) }),
    ...(grouping === undefined ? {} : { grouping }),
    ...localizedText(fields, "prefix"),
    ...localizedText(fields, "suffix"),
  };
}

const refuse = (reason: string) =>
  failed("invalid_value", `The format cannot be used: ${reason}.`, { parameter: "format" });

const own = (fields: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;

/** A member that is a text or an object of texts by language; {} when it is absent. */
function localizedText<Name extends string>(
  fields: Readonly<Record<string, unknown>>,
  name: Name,
): { readonly [name in Name]?: LocalizedText } {
  const value = own(fields, name);
  if (value === undefined) return {};
  const perLanguage =
    typeof value === "object" && !Array.isArray(value) ? Object.entries(value as object) : [];
  const texts = typeof value === "string" ? [value] : perLanguage.flat();
  if (texts.length === 0 || perLanguage.length > maxLanguages)
    throw refuse(`${name} is a text, or one per language`);
  for (const text of texts) {
    if (typeof text !== "string" || text.length > maxTextLength || /\0|\p{Surrogate}/u.test(text))
      throw refuse(`${name} has texts of at most ${maxTextLength} characters`);
  }
  return { [name]: value as LocalizedText } as { readonly [name in Name]?: LocalizedText };
}

function requirePattern(pattern: string): void {
  for (const { token } of splitPattern(pattern)) {
    if (token !== undefined && !(patternTokens as readonly string[]).includes(token))
      throw refuse(`"${token}" is not a pattern token; literal letters must be in single quotes`);
  }
}
