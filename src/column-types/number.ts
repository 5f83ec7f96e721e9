import { accept, type ColumnTypeDefinition, type ColumnValue, empty, refuse } from "./definition.js";

/** Double-precision numbers. Integers beyond 2^53 are refused, since a double cannot represent all of them. */

export const numberPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** In imported files: whole numbers with up to 15 digits before their zeros, and decimal numbers, rounded to a double. */
const importedPattern =
  "^[+-]?(\\d{1,15}|\\d{0,15}\\.\\d{1,30}|\\d{1,15}\\.)([eE][+-]?\\d{1,2})?$|^[+-]?\\d{1,15}0{1,255}(\\.0{1,30})?$";
/** Numbers of 16 digits before the point; a double has those up to 2^53. */
const longPattern = "^[+-]?\\d{16}(\\.\\d{1,30})?$";

/** SQL clients can store NaN and infinities, which JSON cannot represent. */
const isFiniteSql = (value: string): string =>
  `${value} between -1.7976931348623157e308 and 1.7976931348623157e308`;

/**
 * SQL of a number as text. From 1e15 on PostgreSQL writes an exponent: what a double has exactly is written in full, as JSON
 * and spreadsheets have it.
 */
const textOf = (value: string, otherwise: string): string =>
  `case when abs(${value})<1e15 then ${value}::text when abs(${value})<=9007199254740992 then ${value}::text::numeric::text ` +
  `when ${isFiniteSql(value)} then ${value}::text else ${otherwise} end`;

function read(value: unknown): ColumnValue {
  if (value === "") return empty;
  let number = value;
  if (typeof value === "string") {
    const text = value.trim();
    if (!numberPattern.test(text)) return refuse("This is not a number.");
    number = Number(text);
  }
  if (typeof number !== "number" || !Number.isFinite(number)) return refuse("This is not a finite number.");
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    return refuse("Whole numbers beyond 2^53 cannot be kept exactly.");
  }
  return accept(number);
}

export const number: ColumnTypeDefinition = {
  description: "a double; whole numbers are exact to 2^53",
  sqlType: "double precision",
  isText: false,
  isComparable: true,
  isOrdered: true,
  isSearchable: true,
  read,
  jsonText: (value) => textOf(value, "'null'"),
  fileText: (value) => textOf(value, "null"),
  toJsonb: (value) => `case when ${isFiniteSql(value)} then to_jsonb(${value}) end`,
  fromJsonb: (json) => `(${json} #>> '{}')::double precision`,
  // Much faster than `convert_value`.
  fromLanguage: (json) =>
    `(select case when jsonb_typeof(v) = 'number' then v::float8 end from (select ${json} as v offset 0) one)`,
  searchText: (value) => textOf(value, `${value}::text`),
  vector: { type: "Number", value: (value) => `case when ${isFiniteSql(value)} then ${value} end` },
  styleValue: (value) => value,
  // The digits that a double has for sure, without the noise of a calculation; from 1e15 on all.
  labelText: (value) =>
    `case when abs(${value})<1e15 then ${value}::numeric::text when ${isFiniteSql(value)} then ${value}::text::numeric::text end`,
  measure: {
    number: (value) => `${value}::float8`,
    finiteNumber: (value) => `case when ${isFiniteSql(value)} then ${value} end`,
    shown: (value) => value,
  },
  imported: {
    value: (text) => `${text}::double precision`,
    // `case` makes sure that only numbers are compared.
    fits: (text) =>
      `${text} is null or ${text} ~ '${importedPattern}' or ` +
      `case when ${text} ~ '${longPattern}' then abs(${text}::float8)<=9007199254740992 else false end`,
  },
};
