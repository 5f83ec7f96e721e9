import { definitionOf } from "../column-types/column-types.js";
import { plainFromJsonb } from "../column-types/conversion.js";
import { type Column, isId } from "./state.js";

/**
 * SQL of a column's value in the column's own SQL type; null when it is empty.
 * @param value SQL of the value from `comparable` or `readableValue`, where a localised value is jsonb
 */
export function plainValue(column: Column, value: string): string {
  if (!column.localizedValue || isId(column)) return value;
  const { isText, fromLanguage } = definitionOf(column);
  if (isText) return value;
  return fromLanguage ? fromLanguage(value) : plainFromJsonb(column.type, value);
}
