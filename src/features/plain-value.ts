import type { Column } from "../catalog/state.js";
import { isId } from "./columns.js";
import { boundType } from "./values.js";

/**
 * SQL of a column's value in the column's own type, null where it has none.
 * @param value SQL of it as `comparable` and `readableValue` give it, which leave localised values as JSON
 */
export function plainValue(column: Column, value: string): string {
  if (!column.localizedValue || isId(column) || column.type === "string" || column.type === "text")
    return value;
  // Quicker by far than the conversion that stands for the other types.
  if (column.type === "number")
    return `(select case when jsonb_typeof(v) = 'number' then v::float8 end from (select ${value} as v offset 0) one)`;
  return `(convert_value(${value},'${column.type}','${column.type}') #>> '{}')::${boundType(column)}`;
}
