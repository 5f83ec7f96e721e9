import { type Column, isId } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { plainFromJsonb } from "../column-types/conversion.js";

/**
 * SQL of a column's value in the column's own type, null where it has none.
 * @param value SQL of it as `comparable` and `readableValue` give it, which leave localised values as JSON
 */
export function plainValue(column: Column, value: string): string {
  if (!column.localizedValue || isId(column)) return value;
  const { isText, fromLanguage } = definitionOf(column);
  if (isText) return value;
  return fromLanguage ? fromLanguage(value) : plainFromJsonb(column.type, value);
}
