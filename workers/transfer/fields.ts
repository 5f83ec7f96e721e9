import type { ImportedField } from "../../src/hosts/messages.js";
import { Byte, parseAt, stringAt } from "./json.js";
import { refused } from "./refusal.js";

/** The properties of all features: which there are, and what type every value of each has room in. */

/** As many custom columns as a layer may have. */
const maxFields = 1000;
/** Characters of a property's name. */
const maxNameLength = 1000;
/** Longer strings make a column `text`. */
const maxStringLength = 255;

const Seen = { number: 1, bool: 2, datetime: 4, string: 8, json: 16 } as const;

interface Field {
  readonly name: string;
  readonly index: number;
  seen: number;
  longest: number;
}

/** NUL and half a surrogate pair: PostgreSQL's text has no room for them. */
const unstorable = /[\0\p{Surrogate}]/u;
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** ISO 8601 as PostgreSQL reads it without loss: up to microseconds, a zone of less than 16 hours or none (UTC). */
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

  /** The index of the property of that name, which is new when it has not come before. */
  index(name: string): number {
    return this.field(name).index;
  }

  /**
   * Notes the value that fills [start, end) and gives the text that staging keeps of it: a string's characters, and
   * the file's own notation of everything else, so that no digit is lost. undefined = null.
   */
  value(name: string, bytes: Buffer, start: number, end: number): string | undefined {
    const field = this.field(name);
    const first = bytes[start]!;
    let text: string;
    if (first === Byte.quote) {
      text = stringAt(bytes, start, end);
      if (unstorable.test(text)) throw unstorableValue(name);
      field.seen |= isDatetime(text) ? Seen.datetime : Seen.string;
    } else if (first === Byte.openObject || first === Byte.openArray) {
      const value = parseAt(bytes, start, end);
      text = bytes.toString("utf8", start, end);
      // jsonb has no room for what text has no room for, however deep it is; only an escape can bring it.
      if (/\\u(0000|d[89a-f])/i.test(text) && holdsUnstorable(value)) throw unstorableValue(name);
      field.seen |= Seen.json;
    } else {
      text = bytes.toString("latin1", start, end);
      if (text === "null") return undefined;
      if (text === "true" || text === "false") field.seen |= Seen.bool;
      else if (number.test(text)) field.seen |= isExact(text) ? Seen.number : Seen.string;
      else throw refused(`The property "${name}" has a value that is not JSON.`);
    }
    if (text.length > field.longest) field.longest = text.length;
    return text;
  }

  /** The properties in the order of their indexes, each with the narrowest type that holds all its values. */
  result(): ImportedField[] {
    return [...this.fields.values()].map((field) => ({ name: field.name, type: typeOf(field) }));
  }

  private field(name: string): Field {
    const known = this.fields.get(name);
    if (known) return known;
    if (this.fields.size === maxFields) {
      throw refused(`The file has more than ${maxFields} properties.`, { limit: maxFields });
    }
    if (name.length > maxNameLength)
      throw refused(`A property's name is longer than ${maxNameLength} characters.`);
    if (unstorable.test(name)) throw refused("A property's name has characters that no text can hold.");
    const field = { name, index: this.fields.size, seen: 0, longest: 0 };
    this.fields.set(name, field);
    return field;
  }
}

/** Whether a string's characters could be JSON of another kind: a number, true, false, an object or an array. */
export function looksLikeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first === Byte.openObject || first === Byte.openArray) return true;
  if (first === Byte.minus || (first >= Byte.zero && first <= Byte.nine)) return number.test(text);
  return text === "true" || text === "false";
}

function typeOf(field: Field): ImportedField["type"] {
  switch (field.seen) {
    case Seen.number:
      return "number";
    case Seen.bool:
      return "bool";
    case Seen.datetime:
      return "datetime";
    case Seen.json:
      return "json";
    default:
      return field.longest > maxStringLength ? "text" : "string";
  }
}

/** Whether a double holds the number: integers beyond 2^53 and what overflows would be changed silently. */
function isExact(text: string): boolean {
  const value = Math.abs(Number(text));
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
  refused(`The property "${name}" has a value with characters that no text can hold.`);

/** `value` is JSON of limited depth. */
function holdsUnstorable(value: unknown): boolean {
  if (typeof value === "string") return unstorable.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => unstorable.test(key) || holdsUnstorable(inner));
}
