import { failed } from "../errors.js";
import { bool } from "./bool.js";
import { datetime } from "./datetime.js";
import type { ColumnTypeDefinition } from "./definition.js";
import { file } from "./file.js";
import { json } from "./json.js";
import { number } from "./number.js";
import { string, text } from "./text.js";

/** The types of columns. */

const valueTypes = { number, string, text, datetime, bool, file, json } satisfies Readonly<
  Record<string, ColumnTypeDefinition>
>;

/** Types whose values are in an object's `fields`. */
export type ValueType = keyof typeof valueTypes;
/** Geometry has a place of its own in an object; a title heads other columns and has no values. */
export type ColumnType = ValueType | "geom" | "title";

interface Typed {
  readonly type: ColumnType;
}

/** Whether values of the type are in `fields`. */
export const isValueType = (type: ColumnType): type is ValueType => Object.hasOwn(valueTypes, type);

/** Whether the column has values in `fields`. */
export const hasValues = ({ type }: Typed): boolean => isValueType(type);

/** What the type of a column with values is. @throws Error for geometry and titles, which have none */
export function definitionOf({ type }: Typed): ColumnTypeDefinition {
  if (!isValueType(type)) throw new Error(`A column of the type ${type} has no values.`);
  return valueTypes[type];
}

/** Whether its values are text. */
export const isText = ({ type }: Typed): boolean => isValueType(type) && valueTypes[type].isText;

/** PostgreSQL's type of a column; a localised value is an object of languages. */
export const physicalType = (type: ValueType, localizedValue: boolean): string =>
  localizedValue ? "jsonb" : valueTypes[type].sqlType;

/** The column types of the contract; `timestamp`, which means `datetime`, is none of them. */
export const columnTypes: readonly ColumnType[] = [
  ...(Object.keys(valueTypes) as ValueType[]),
  "geom",
  "title",
];

/** Half a sentence on each type with values, for the description of the API. */
export const typeDescriptions: string = Object.entries(valueTypes)
  .map(([type, { description }]) => `\`${type}\`: ${description}`)
  .join("; ");

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
  const type = columnTypes.find((one) => one === given);
  if (type) return type;
  throw failed(
    "unknown_type",
    "A column's type is number, string, text, datetime, bool, file, title or json.",
    { parameter: "type" },
  );
}
