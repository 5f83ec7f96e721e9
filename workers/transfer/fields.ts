import type { ImportedField } from "../../src/hosts/import-messages.js";
import { Byte, parseAt, stringAt } from "./json.js";
import { badFeature, refused } from "./refusal.js";

/** Collects the properties of all features and infers the column type of each. */

/** The maximum number of custom columns of a layer. */
const maxFields = 1000;
/** In characters. */
const maxNameLength = 1000;
/** Longer strings make a column `text`. */
const maxStringLength = 255;

const TypeFlag = { number: 1, bool: 2, datetime: 4, string: 8, json: 16 } as const;

interface Field {
  readonly name: string;
  readonly index: number;
  seen: number;
  maxTextLength: number;
}

/** NUL and unpaired surrogates, which PostgreSQL's text cannot store. */
const unstorable = /[\0\p{Surrogate}]/u;
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** ISO 8601 as far as PostgreSQL reads it without loss: up to microseconds, offset below 16 hours or none (UTC). */
const datetime =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?$/;

export class FieldSet {
  private readonly fields = new Map<string, Field>();

  get count(): number {
    return this.fields.size;
  }

  has(name: string): boolean {
    return this.fields.has(name);
  }

  /** The index of the property; a new name gets the next index. */
  index(name: string): number {
    return this.field(name).index;
  }

  /**
   * Records the type of the JSON value in [start, end) and returns its text for the staging table: the characters of a
   * string, the JSON text of other values, so that no digit is lost; undefined for null.
   */
  json(name: string, bytes: Buffer, start: number, end: number): string | undefined {
    const field = this.field(name);
    const first = bytes[start]!;
    let text: string;
    if (first === Byte.quote) {
      text = stringAt(bytes, start, end);
      this.string(field, text);
    } else if (first === Byte.openObject || first === Byte.openArray) {
      const value = parseAt(bytes, start, end);
      text = bytes.toString("utf8", start, end);
      // jsonb cannot store these characters either. Valid UTF-8 contains them only as escapes.
      if (/\\u(0000|d[89a-f])/i.test(text) && holdsUnstorable(value)) throw unstorableValue(name);
      field.seen |= TypeFlag.json;
    } else {
      text = bytes.toString("latin1", start, end);
      if (text === "null") return undefined;
      if (text === "true" || text === "false") field.seen |= TypeFlag.bool;
      else if (number.test(text)) field.seen |= isExact(text) ? TypeFlag.number : TypeFlag.string;
      else throw refused(`The property "${name}" has a value that is not JSON.`);
    }
    if (text.length > field.maxTextLength) field.maxTextLength = text.length;
    return text;
  }

  /** As `json`, of a value in memory. Whole numbers beyond 2^53 are given as text to `untyped`. */
  value(name: string, value: string | number | boolean | null): string | undefined {
    const field = this.field(name);
    if (value === null) return undefined;
    if (typeof value === "string") this.string(field, value);
    // JSON has no NaN and no infinities either: they are no values.
    else if (typeof value === "number" && !Number.isFinite(value)) return undefined;
    else field.seen |= typeof value === "boolean" ? TypeFlag.bool : TypeFlag.number;
    const text = String(value);
    if (text.length > field.maxTextLength) field.maxTextLength = text.length;
    return text;
  }

  /** As `json`, of a text whose type is not known: it counts as what it looks like. */
  untyped(name: string, text: string | null): string | undefined {
    const field = this.field(name);
    if (text === null) return undefined;
    if (text === "true" || text === "false") field.seen |= TypeFlag.bool;
    else if (number.test(text) && isExact(text)) field.seen |= TypeFlag.number;
    else this.string(field, text);
    if (text.length > field.maxTextLength) field.maxTextLength = text.length;
    return text;
  }

  /** The properties by index, each with the narrowest type for all its values. */
  result(): ImportedField[] {
    return [...this.fields.values()].map((field) => ({ name: field.name, type: typeOf(field) }));
  }

  private string(field: Field, text: string): void {
    if (unstorable.test(text)) throw unstorableValue(field.name);
    field.seen |= isDatetime(text) ? TypeFlag.datetime : TypeFlag.string;
  }

  private field(name: string): Field {
    const known = this.fields.get(name);
    if (known) return known;
    if (this.fields.size === maxFields) {
      throw refused(`The file has more than ${maxFields} properties.`, { limit: maxFields });
    }
    if (name.length > maxNameLength)
      throw refused(`A property's name is longer than ${maxNameLength} characters.`);
    if (unstorable.test(name)) throw refused("A property's name has characters that cannot be stored.");
    const field = { name, index: this.fields.size, seen: 0, maxTextLength: 0 };
    this.fields.set(name, field);
    return field;
  }
}

/** Whether a string would be another JSON value without its quotes: a number, true, false, an object or an array. */
export function looksLikeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first === Byte.openObject || first === Byte.openArray) return true;
  if (first === Byte.minus || (first >= Byte.zero && first <= Byte.nine)) return number.test(text);
  return text === "true" || text === "false";
}

function typeOf(field: Field): ImportedField["type"] {
  switch (field.seen) {
    case TypeFlag.number:
      return "number";
    case TypeFlag.bool:
      return "bool";
    case TypeFlag.datetime:
      return "datetime";
    case TypeFlag.json:
      return "json";
    default:
      return field.maxTextLength > maxStringLength ? "text" : "string";
  }
}

/**
 * Whether a column of numbers can hold the number: a double rounds fractions, but whole numbers up to 2^53 are exact, and
 * beyond that what has at most 15 significant digits. What is too large or too small for a double stays text.
 */
function isExact(text: string): boolean {
  const value = Math.abs(Number(text));
  if (value === 0) return significantDigits(text) === 0;
  return value <= Number.MAX_SAFE_INTEGER || (Number.isFinite(value) && significantDigits(text) <= 15);
}

function significantDigits(text: string): number {
  return text
    .replace(/[eE].*$/, "")
    .replace(/[-.]/g, "")
    .replace(/^0+|0+$/g, "").length;
}

function isDatetime(text: string): boolean {
  if (text.length < 10 || text.length > 35) return false;
  const match = datetime.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year === 0 || month < 1 || month > 12 || day < 1) return false;
  return day <= new Date(Date.UTC(year < 100 ? year + 400 : year, month, 0)).getUTCDate();
}

const unstorableValue = (name: string): Error =>
  badFeature(`the property "${name}" has a value with characters that cannot be stored`);

/** Recursive: `value` is JSON of limited depth. */
function holdsUnstorable(value: unknown): boolean {
  if (typeof value === "string") return unstorable.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => unstorable.test(key) || holdsUnstorable(inner));
}
