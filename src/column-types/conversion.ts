import { type ColumnType, definitionOf, isText, type ValueType } from "./column-types.js";

/** Conversion of values when a column changes its type or becomes localised. */

/** Type of a column's values. */
export interface ValueKind {
  readonly type: ValueType;
  readonly localizedValue: boolean;
}

/** Whether values need no conversion. */
export const sameValues = (from: ValueKind, to: ValueKind): boolean =>
  from.localizedValue === to.localizedValue && (from.type === to.type || (isText(from) && isText(to)));

/**
 * SQL of a column's value, converted; null if that is impossible. A value that becomes localised is taken as one in the
 * main language. Of a localised value that becomes plain, the main language's value is kept, else any other.
 * @param name of the physical column
 * @param main SQL of the main language's code
 */
export function convertedValue(name: string, from: ValueKind, to: ValueKind, main: string): string {
  const types = `'${from.type}', '${to.type}'`;
  if (from.localizedValue && to.localizedValue) return `convert_languages(${name}, ${types})`;
  const value = from.localizedValue ? `main_value(${name}, ${main})` : definitionOf(from).toJsonb(name);
  const converted = `convert_value(${value}, ${types})`;
  return to.localizedValue ? `in_language(${main}, ${converted})` : definitionOf(to).fromJsonb(converted);
}

/** SQL of one language's value of a localised column, in the column's `sqlType`; null if it is not of the type. */
export function plainFromJsonb(type: ColumnType, json: string): string {
  return definitionOf({ type }).fromJsonb(`convert_value(${json}, '${type}', '${type}')`);
}
