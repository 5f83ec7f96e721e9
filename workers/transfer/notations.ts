import type { ImportedField, Notation } from "../../src/hosts/import-messages.js";
import { valueEnd } from "./json.js";

/**
 * What the texts of files without types can mean: numbers, dates, true and false, and JSON in usual notations. A column has
 * the type and the notation that fit all its texts. What is ambiguous stays text, as do codes such as 007 and +7 495.
 */

/** Notations of a text, as bits. */
const can = {
  /** 1234.5, -1e-7 */
  number: 1,
  /** 1234,5 or 1 234,5 */
  decimalComma: 2,
  /** 1.234,5 */
  pointGroups: 4,
  /** 1 234.5 */
  spaceGroups: 8,
  /** 1,234.5 */
  commaGroups: 16,
  /** ISO 8601 */
  iso: 32,
  /** 31.12.2024 or 31/12/2024, with or without a time of day */
  dayFirst: 64,
  /** 12/31/2024 */
  monthFirst: 128,
  /** 2024/12/31 or 2024.12.31 */
  yearFirst: 256,
  bool: 512,
  json: 1024,
} as const;

/** Before the first text everything is possible. */
export const anyNotation = 2047;
const integerNotations = can.number | can.decimalComma | can.pointGroups | can.spaceGroups | can.commaGroups;
const numbers = integerNotations;
const dates = can.iso | can.dayFirst | can.monthFirst | can.yearFirst;

const integer = /^-?(?:0|[1-9]\d*)$/;
const number = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const decimalComma = /^-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+)(?:,\d+)?$/;
const pointGroups = /^-?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?$/;
const spaceGroups = /^-?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:\.\d+)?$/;
const commaGroups = /^-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/;
/** ISO 8601 as far as PostgreSQL reads it without loss: up to microseconds, offset below 16 hours or none (UTC). */
const iso =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:Z|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?$/;
const time = "(?:,? (?:[01]?\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,6})?)?)?";
const yearLast = new RegExp(`^(\\d{1,2})([./])(\\d{1,2})\\2(\\d{4})${time}$`);
const yearFirst = new RegExp(`^(\\d{4})([./])(\\d{1,2})\\2(\\d{1,2})${time}$`);
const boolean = /^(?:true|false)$/i;

/** What the file says of itself that decides between notations. */
export interface NotationContext {
  /** What a comma before three digits means where nothing else tells; undefined = such columns stay text. */
  readonly comma: "decimal" | "groups" | undefined;
}

/**
 * The notations of a text without spaces around it; 0 = it is only text.
 * @param wanted those that fit the column so far; others need not be found
 */
export function notationsOf(text: string, wanted: number = anyNotation): number {
  const first = text.charCodeAt(0);
  // The characters - . 0 to 9
  if (first === 0x2d || first === 0x2e || (first >= 0x30 && first <= 0x39)) return ofDigits(text, wanted);
  if (first === 0x7b || first === 0x5b) return isJson(text) ? can.json : 0;
  return boolean.test(text) ? can.bool : 0;
}

function ofDigits(text: string, wanted: number): number {
  if (text.length > 40) return number.test(text) && isExact(text) ? can.number : 0;
  const found = wanted & numbers ? numbersOf(text, wanted) : undefined;
  if (found !== undefined) return found;
  return wanted & dates && text.length >= 8 && text.length <= 35 ? datesOf(text) : 0;
}

/** Undefined when the text is no number; 0 for one that a column of numbers cannot hold. */
function numbersOf(text: string, wanted: number): number | undefined {
  if (integer.test(text)) return isExact(text) ? integerNotations : 0;
  let found = 0;
  if (number.test(text)) {
    found = can.number | (/e/i.test(text) ? 0 : can.spaceGroups | can.commaGroups);
    if (!(wanted & can.pointGroups)) return isExact(text) ? found : 0;
  }
  if (decimalComma.test(text))
    found |= can.decimalComma | (/ |\u00a0|\u202f/.test(text) ? 0 : can.pointGroups);
  if (pointGroups.test(text)) found |= can.pointGroups;
  if (spaceGroups.test(text)) found |= can.spaceGroups;
  if (commaGroups.test(text)) found |= can.commaGroups;
  return found === 0 ? undefined : isExactIn(text, found);
}

/** The notations in which a column of numbers holds the number exactly. */
function isExactIn(text: string, found: number): number {
  const point = found & (can.number | can.spaceGroups | can.commaGroups);
  const comma = found & (can.decimalComma | can.pointGroups);
  const plainPoint = text.replace(/[, \u00a0\u202f]/g, "");
  const plainComma = text.replace(/[. \u00a0\u202f]/g, "").replace(",", ".");
  return (isExact(plainPoint) ? point : 0) | (isExact(plainComma) ? comma : 0);
}

function datesOf(text: string): number {
  if (isDatetime(text)) return can.iso;
  const last = yearLast.exec(text);
  if (last) {
    const [one, other, year] = [Number(last[1]), Number(last[3]), Number(last[4])];
    return (
      (isDay(year, other, one) ? can.dayFirst : 0) |
      (last[2] === "/" && isDay(year, one, other) ? can.monthFirst : 0)
    );
  }
  const first = yearFirst.exec(text);
  return first && isDay(Number(first[1]), Number(first[3]), Number(first[4])) ? can.yearFirst : 0;
}

/** Whether the text is a date and time in ISO 8601. */
export function isDatetime(text: string): boolean {
  if (text.length < 10 || text.length > 35) return false;
  const match = iso.exec(text);
  return match !== null && isDay(Number(match[1]), Number(match[2]), Number(match[3]));
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDay(year: number, month: number, day: number): boolean {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && isLeap ? 29 : monthDays[month - 1];
  return year > 0 && days !== undefined && day >= 1 && day <= days;
}

/** What is known of all texts of a column. */
export interface ColumnTexts {
  /** The notations that fit all of them. */
  readonly possible: number;
  /** Whether any of them has spaces around it, is blank, or has capital letters. */
  readonly isLoose: boolean;
  /** Lengths of the shortest and the longest that are not blank, without the spaces around them. */
  readonly lengths: readonly [shortest: number, longest: number];
}

/** The type of a column and its notation; undefined = it is text. */
export function resolve(
  { possible, isLoose, lengths }: ColumnTexts,
  { comma }: NotationContext,
): { type: ImportedField["type"]; notation?: Notation } | undefined {
  const loose = isLoose ? ({ notation: "loose" } as const) : {};
  if (possible & can.number) return { type: "number", ...loose };
  if (possible & numbers) {
    const notation = numberNotation(possible, lengths, comma);
    return notation && { type: "number", notation };
  }
  if (possible & can.iso) return { type: "datetime", ...loose };
  if (possible & can.yearFirst) return { type: "datetime", notation: "year first" };
  const order = possible & (can.dayFirst | can.monthFirst);
  if (order === can.dayFirst) return { type: "datetime", notation: "day first" };
  if (order === can.monthFirst) return { type: "datetime", notation: "month first" };
  if (possible & can.bool) return { type: "bool", ...loose };
  if (possible & can.json) return { type: "json", ...loose };
  return undefined;
}

/** Of texts of one length that look like groups of digits nobody knows whether they are numbers, such as 560 001. */
function numberNotation(
  possible: number,
  [shortest, longest]: ColumnTexts["lengths"],
  comma: NotationContext["comma"],
): Notation | undefined {
  const decimal = (possible & (can.decimalComma | can.pointGroups)) !== 0;
  const groups = (possible & (can.spaceGroups | can.commaGroups)) !== 0;
  if (decimal && groups) {
    const meaning = possible & can.spaceGroups ? "groups" : comma;
    if (meaning === "decimal") return "decimal comma";
    return meaning === "groups" && shortest !== longest ? "grouped" : undefined;
  }
  return decimal ? "decimal comma" : shortest === longest ? undefined : "grouped";
}

export const isNumberNotation = (possible: number): boolean => (possible & numbers) !== 0;
export const isDateNotation = (possible: number): boolean => (possible & dates) !== 0;

/**
 * Whether a column of numbers can hold the number: a double rounds fractions, but whole numbers up to 2^53 are exact, and
 * beyond that what has at most 15 significant digits. What is too large or too small for a double stays text.
 */
export function isExact(text: string): boolean {
  if (text.length <= 15 && !/e/i.test(text)) return true;
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

/** NUL and unpaired surrogates, which PostgreSQL's text cannot store. */
export const unstorable = /[\0\p{Surrogate}]/u;

/** Whether the text is an object or an array that a column of JSON can hold. */
function isJson(text: string): boolean {
  try {
    const bytes = Buffer.from(text);
    if (valueEnd(bytes, 0, bytes.length) !== bytes.length) return false;
    return !holdsUnstorable(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Recursive: `value` is JSON of limited depth. */
export function holdsUnstorable(value: unknown): boolean {
  if (typeof value === "string") return unstorable.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => unstorable.test(key) || holdsUnstorable(inner));
}
