import type { ImportedField } from "../../src/hosts/import-messages.js";
import { Byte, parseAt, stringAt } from "./json.js";
import {
  anyNotation,
  holdsUnstorable,
  isDateNotation,
  isDatetime,
  isExact,
  isNumberNotation,
  type NotationContext,
  notationsOf,
  resolve,
  unstorable,
} from "./notations.js";
import { badFeature, refused } from "./refusal.js";

/** Collects the properties of all features and infers the column type of each. */

/** The maximum number of custom columns of a layer. */
const maxFields = 1000;
/** In characters. */
const maxNameLength = 1000;
/** Longer strings make a column `text`. */
const maxStringLength = 255;

const TypeFlag = { number: 1, bool: 2, datetime: 4, string: 8, json: 16, untyped: 32 } as const;
type Type = ImportedField["type"];

interface Field {
  readonly name: string;
  readonly index: number;
  seen: number;
  maxTextLength: number;
  /** Of texts without a type that are not blank, without the spaces around them. */
  shortest: number;
  longest: number;
  /** Notations that fit all texts without a type. */
  notations: number;
  /** Whether a text without a type has spaces around it, is blank, or has capital letters. */
  isLoose: boolean;
  /** Whether a text without a type stands without quotation marks in the file. */
  isBare: boolean;
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
export class FieldSet {
  /** What a comma in texts without a type means where they do not tell. */
  comma: NotationContext["comma"];
  private readonly fields = new Map<string, Field>();
  /** Notations of texts without quotation marks in all columns. */
  private bareNotations = 0;

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

  /**
   * As `json`, of a text whose type is not known: it counts as what it looks like. Blank texts fit every type.
   * @param isQuoted whether the text stands in quotation marks, in a file where others may not
   */
  untyped(name: string, text: string | null, isQuoted: boolean): string | undefined {
    const field = this.field(name);
    if (text === null) return undefined;
    if (text.length > field.maxTextLength) field.maxTextLength = text.length;
    const trimmed = text.trim();
    if (trimmed === "") {
      field.isLoose = true;
      return text;
    }
    field.seen |= TypeFlag.untyped;
    const found = field.notations === 0 ? 0 : notationsOf(trimmed, field.notations);
    // What is neither a number nor a date nor true or false may be any text.
    if (found === 0 && unstorable.test(text)) throw unstorableValue(name);
    field.notations &= found;
    if (field.notations === 0 && isQuoted) return text;
    if (trimmed.length !== text.length || /^[A-Z.]|^-\./.test(trimmed)) field.isLoose = true;
    if (trimmed.length < field.shortest) field.shortest = trimmed.length;
    if (trimmed.length > field.longest) field.longest = trimmed.length;
    if (!isQuoted) {
      field.isBare = true;
      this.bareNotations |= found;
    }
    return text;
  }

  /** The properties by index, each with the narrowest type for all its values. */
  result(): ImportedField[] {
    return [...this.fields.values()].map((field) => {
      const { type, notation } = this.typeOf(field);
      const hasNumbers = (field.seen & TypeFlag.number) !== 0;
      return {
        ...{ name: field.name, type: type ?? textType(field) },
        ...(notation && { notation }),
        ...(hasNumbers && { hasNumbers }),
      };
    });
  }

  /** The type of a property and its notation; undefined = text. */
  private typeOf(field: Field): { type?: Type | undefined; notation?: ImportedField["notation"] } {
    const typed = field.seen & ~TypeFlag.untyped;
    if (typed === field.seen) return { type: typeOfFlags(typed) };
    const { notations: possible, isLoose } = field;
    const lengths = [field.shortest, field.longest] as const;
    const resolved = resolve({ possible, isLoose, lengths }, { comma: this.comma });
    if (resolved === undefined || this.isQuotedText(field, resolved)) return {};
    // Other values have types: those of no type must be written in the same way.
    if (typed !== 0 && (resolved.notation !== undefined || typeOfFlags(typed) !== resolved.type)) return {};
    return resolved;
  }

  /**
   * Whether all values of the column stand in quotation marks, while others of that type in the file do not: the program that
   * wrote the file knew that they are text. Numbers with a comma may need the marks.
   */
  private isQuotedText(field: Field, { type, notation }: { type: Type; notation?: string }): boolean {
    if (field.isBare) return false;
    const bare = this.bareNotations;
    if (type === "number") return isNumberNotation(bare) && (notation ?? "loose") === "loose";
    return type === "datetime" && isDateNotation(bare);
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
    const field = {
      name,
      index: this.fields.size,
      seen: 0,
      maxTextLength: 0,
      shortest: Number.POSITIVE_INFINITY,
      longest: 0,
      notations: anyNotation,
      isLoose: false,
      isBare: false,
    };
    this.fields.set(name, field);
    return field;
  }
}

/** Whether a string may be another JSON value without its quotes, as `json_of` in the database reads it. */
export const looksLikeJson = (text: string): boolean => /^\s*(?:$|[[{"\d]|-\d|true|false)/.test(text);

function typeOfFlags(seen: number): Type | undefined {
  switch (seen) {
    case TypeFlag.number:
      return "number";
    case TypeFlag.bool:
      return "bool";
    case TypeFlag.datetime:
      return "datetime";
    case TypeFlag.json:
      return "json";
    default:
      return undefined;
  }
}

const textType = (field: Field): Type => (field.maxTextLength > maxStringLength ? "text" : "string");

const unstorableValue = (name: string): Error =>
  badFeature(`the property "${name}" has a value with characters that cannot be stored`);
