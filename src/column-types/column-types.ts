import { failed } from "../errors.js";
import { bool } from "./bool.js";
import { datetime } from "./datetime.js";
import type { ColumnTypeDefinition } from "./definition.js";
import { file } from "./file.js";
import { json } from "./json.js";
import { number } from "./number.js";
import { string, text } from "./text.js";

/** The column types. */

const valueTypes = { number, string, text, datetime, bool, file, json } satisfies Readonly<
  Record<string, ColumnTypeDefinition>
>;

/** Types of columns with values in an object's `fields`. */
export type ValueType = keyof typeof valueTypes;
/** `geom` is not in `fields`; a `title` is a heading over other columns and has no values. */
export type ColumnType = ValueType | "geom" | "title";

interface Typed {
  readonly type: ColumnType;
}

export const isValueType = (type: ColumnType): type is ValueType => Object.hasOwn(valueTypes, type);

/** Whether the column has values in `fields`. */
export const hasValues = ({ type }: Typed): boolean => isValueType(type);

/** The definition of a column's type. @throws Error for geometry and titles */
export function definitionOf({ type }: Typed): ColumnTypeDefinition {
  if (!isValueType(type)) throw new Error(`A column of the type ${type} has no values.`);
  return valueTypes[type];
}

export const isText = ({ type }: Typed): boolean => isValueType(type) && valueTypes[type].isText;

/** PostgreSQL type of a physical column. */
export const physicalType = (type: ValueType, localizedValue: boolean): string =>
  localizedValue ? "jsonb" : valueTypes[type].sqlType;

/** The column types of the contract, without `timestamp`, an alias of `datetime` in requests. */
export const columnTypes: readonly ColumnType[] = [
  ...(Object.keys(valueTypes) as ValueType[]),
  "geom",
  "title",
];

/** Descriptions of all value types, for the API's documentation. */
export const typeDescriptions: string = Object.entries(valueTypes)
  .map(([type, { description }]) => `\`${type}\`: ${description}`)
  .join("; ");

/**
 * Reads the type in a request; `timestamp` is an alias of `datetime`.
 * @param given undefined, null and "" = missing
 * @throws Failure type_required, unknown_type
 */
export function readColumnType(given: unknown): ColumnType {
  if (given === undefined || given === null || given === "") {
    throw failed("type_required", "A column needs a type.", { required: ["type"] });
  }
  if (given === "timestamp") return "datetime";
  const type = columnTypes.find((one) => one === given);
  if (type) return type;
  const types = columnTypes.filter((one) => one !== "geom").join(", ");
  throw failed("unknown_type", `A column's type is one of ${types}.`, { parameter: "type" });
}
