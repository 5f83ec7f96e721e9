import { accept, type ColumnTypeDefinition, type ColumnValue, empty, refuse } from "./definition.js";

/** True or false. */

function read(value: unknown): ColumnValue {
  if (value === "") return empty;
  if (value === true || value === 1 || value === "true" || value === "1") return accept(true);
  if (value === false || value === 0 || value === "false" || value === "0") return accept(false);
  return refuse("This is neither true nor false.");
}

export const bool: ColumnTypeDefinition = {
  description: "true or false",
  sqlType: "boolean",
  isText: false,
  isComparable: true,
  isOrdered: false,
  isSearchable: false,
  read,
  jsonText: (value) => `coalesce(${value}::text,'null')`,
  fileText: (value) => `${value}::text`,
  toJsonb: (value) => `to_jsonb(${value})`,
  fromJsonb: (json) => `(${json})::boolean`,
  vector: { type: "Boolean", value: (value) => value },
  styleValue: (value) => value,
  imported: {
    value: (text) => `${text}::boolean`,
    fits: (text) => `${text} is null or ${text} in ('true', 'false', '1', '0')`,
  },
};
