import { failed } from "../errors.js";
import type { ColumnType } from "./state.js";

/** Types of columns: what they are in PostgreSQL, and how values change from one to another. */

/** Types whose values are in `fields`. */
export type ValueType = Exclude<ColumnType, "title" | "geom">;

const physicalTypes: Readonly<Record<ValueType, string>> = {
  number: "double precision",
  string: "text",
  text: "text",
  datetime: "timestamptz",
  bool: "boolean",
  file: "bigint[]",
  json: "jsonb",
};

/** PostgreSQL's type of a column; a localised value is an object of languages. Titles have no physical column. */
export function physicalType(type: ValueType, localizedValue: boolean): string {
  return localizedValue ? "jsonb" : physicalTypes[type];
}

/** Whether values of the type are in `fields`: titles have none, and geometry has a place of its own. */
export const isValueType = (type: ColumnType): type is ValueType => type !== "title" && type !== "geom";

/** Whether the text is a column type of the contract (`timestamp`, which means `datetime`, is not). */
export const isColumnType = (type: string): type is ColumnType =>
  Object.hasOwn(physicalTypes, type) || type === "geom" || type === "title";

/** The column types of the contract. */
export const columnTypes: readonly ColumnType[] = [
  ...(Object.keys(physicalTypes) as ValueType[]),
  "geom",
  "title",
];

/**
 * The type that a request names; `timestamp` is `datetime`.
 * @param given undefined, null and "" = none
 * @throws Failure type_required, unknown_type
 */
export function readColumnType(given: unknown): ColumnType {
  if (given === undefined || given === null || given === "") {
    throw failed("type_required", "A column needs a type.", { required: ["type"] });
  }
  if (given === "timestamp") return "datetime";
  if (typeof given === "string" && isColumnType(given)) return given;
  throw failed(
    "unknown_type",
    "A column's type is number, string, text, datetime, bool, file, title or json.",
    {
      parameter: "type",
    },
  );
}

/** What the values of a column are. */
export interface ValueKind {
  readonly type: ValueType;
  readonly localizedValue: boolean;
}

/** Whether values of the one kind are values of the other as they are. */
export function sameValues(from: ValueKind, to: ValueKind): boolean {
  const text = (type: ValueType) => (type === "text" ? "string" : type);
  return from.localizedValue === to.localizedValue && text(from.type) === text(to.type);
}

/**
 * SQL of a column's value as one of another kind; what cannot be converted is null. A value that becomes localised
 * is in the main language, one that ceases to be is the main language's, else any.
 * @param name the physical column
 * @param main placeholder or constant of the main language's code
 */
export function convertedValue(name: string, from: ValueKind, to: ValueKind, main: string): string {
  const types = `'${from.type}', '${to.type}'`;
  if (from.localizedValue && to.localizedValue) return `convert_languages(${name}, ${types})`;
  const value = from.localizedValue ? `main_value(${name}, ${main})` : jsonOf(name, from.type);
  const converted = `convert_value(${value}, ${types})`;
  return to.localizedValue ? `in_language(${main}, ${converted})` : plainOf(converted, to.type);
}

/** SQL of a plain value as JSON, null for what JSON cannot hold. */
function jsonOf(name: string, type: ValueType): string {
  switch (type) {
    case "number":
      return `case when ${name} between -1.7976931348623157e308 and 1.7976931348623157e308 then to_jsonb(${name}) end`;
    case "datetime":
      return `to_jsonb(moment_text(${name}))`;
    case "file":
      return `to_jsonb(array_to_string(${name}, ','))`;
    case "json":
      return name;
    default:
      return `to_jsonb(${name})`;
  }
}

/** SQL of the plain value that JSON made by convert_value stands for. */
function plainOf(json: string, type: ValueType): string {
  switch (type) {
    case "number":
      return `(${json} #>> '{}')::double precision`;
    case "datetime":
      return `(${json} #>> '{}')::timestamptz`;
    case "bool":
      return `(${json})::boolean`;
    case "file":
      return `string_to_array(${json} #>> '{}', ',')::bigint[]`;
    case "json":
      return json;
    default:
      return `${json} #>> '{}'`;
  }
}
