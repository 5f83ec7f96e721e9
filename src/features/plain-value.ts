import type { Column } from "../catalog/state.js";
import { comparable, isId, type Languages } from "./columns.js";
import type { Values } from "./sql.js";
import { boundType } from "./values.js";

/**
 * SQL of a column's value in the column's own type, null where it has none; of a localised column the value that a
 * reader of the languages sees, which `comparable` leaves as JSON.
 */
export function plainValue(column: Column, languages: Languages, bound: Values): string {
  const value = comparable(column, languages, bound);
  if (!column.localizedValue || isId(column) || column.type === "string" || column.type === "text")
    return value;
  // Quicker by far than the conversion that stands for the other types.
  if (column.type === "number")
    return `(select case when jsonb_typeof(v) = 'number' then v::float8 end from (select ${value} as v offset 0) one)`;
  return `(convert_value(${value},'${column.type}','${column.type}') #>> '{}')::${boundType(column)}`;
}
