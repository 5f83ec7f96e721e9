import type { Column } from "../catalog/state.js";
import { failed } from "../errors.js";

/** Column formats (`format` of a column element): their types and their validation. */

/** One text for all languages, or one per language code. */
export type LocalizedText = string | Readonly<Record<string, string>>;

export interface NumberFormat {
  readonly kind: "number";
  /** Decimal places; absent = as many as the number has. */
  readonly decimals?: number;
  /** Thousands separators; default: those of the language. */
  readonly grouping?: boolean;
  readonly prefix?: LocalizedText;
  readonly suffix?: LocalizedText;
}
export interface DatetimeFormat {
  readonly kind: "datetime";
  readonly pattern: LocalizedText;
}
export interface BoolFormat {
  readonly kind: "bool";
  readonly true?: LocalizedText;
  readonly false?: LocalizedText;
}
export type ColumnFormat = NumberFormat | DatetimeFormat | BoolFormat;

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

/** Splits a pattern into tokens (runs of one letter) and literal text; single quotes enclose letters, '' is a quote. */
export function splitPattern(pattern: string): { readonly token?: string; readonly literal?: string }[] {
  const parts: { token?: string; literal?: string }[] = [];
  for (const [part] of pattern.matchAll(/''|'(?:[^']|'')*'?|([A-Za-z])\1*|[^A-Za-z']+/g)) {
    if (part === "''") parts.push({ literal: "'" });
    else if (part.startsWith("'")) parts.push({ literal: part.replace(/^'|'$/g, "").replaceAll("''", "'") });
    else if (/^[A-Za-z]/.test(part)) parts.push({ token: part });
    else parts.push({ literal: part });
  }
  return parts;
}
