import { type ColumnType, definitionOf, isText, type ValueType } from "./column-types.js";

/** How values change when a column gets another type, or values in several languages. */

/** What the values of a column are. */
export interface ValueKind {
  readonly type: ValueType;
  readonly localizedValue: boolean;
}

/** Whether values of the one kind are values of the other as they are. */
export const sameValues = (from: ValueKind, to: ValueKind): boolean =>
  from.localizedValue === to.localizedValue && (from.type === to.type || (isText(from) && isText(to)));

/**
 * SQL of a column's value as one of another kind; what cannot be converted is null. A value that becomes localised
 * is in the main language, one that ceases to be is the main language's, else any.
 * @param name the physical column
 * @param main placeholder or constant of the main language's code
 */
export function convertedValue(name: string, from: ValueKind, to: ValueKind, main: string): string {
  const types = `'${from.type}', '${to.type}'`;
  if (from.localizedValue && to.localizedValue) return `convert_languages(${name}, ${types})`;
  const value = from.localizedValue ? `main_value(${name}, ${main})` : definitionOf(from).toJsonb(name);
  const converted = `convert_value(${value}, ${types})`;
  return to.localizedValue ? `in_language(${main}, ${converted})` : definitionOf(to).fromJsonb(converted);
}

/** SQL of a value that a localised column has as `jsonb`, in the column's own type; null where it is none. */
export function plainFromJsonb(type: ColumnType, json: string): string {
  return definitionOf({ type }).fromJsonb(`convert_value(${json}, '${type}', '${type}')`);
}
