import { type Column, isId } from "../catalog/state.js";
import type { Limit } from "../catalog/visual-values.js";
import { definitionOf } from "../column-types/column-types.js";
import { type Languages, readableValue } from "./column-sql.js";
import { plainValue } from "./plain-value.js";
import type { Values } from "./sql.js";
import { readValue } from "./values.js";

/**
 * SQL of a column's values for visualizations, as numbers or as categories. For localised columns the value that tiles are
 * drawn with.
 */

/** SQL of a column's values as finite numbers; undefined for types without a numeric scale. */
export function measure(column: Column, languages: Languages, bound: Values): string | undefined {
  const scale = definitionOf(column).measure;
  if (!scale) return undefined;
  const value = plainValue(column, readableValue(column, languages, bound));
  return column.localizedValue || isId(column) ? scale.number(value) : scale.finiteNumber(value);
}

/** A numeric value in the form of the column's JSON. */
export const shownValue = (column: Column, value: number): Limit =>
  definitionOf(column).measure?.shown(value) ?? value;

/**
 * A column's values as categories.
 * @returns `sql` of the value (null when empty), its SQL `type`, and `read`, which turns the value of a class into text for
 *   that type (undefined when no object can have it)
 */
export function categoryValue(column: Column, languages: Languages, bound: Values) {
  const definition = definitionOf(column);
  const value = readableValue(column, languages, bound);
  if (definition.isComparable && !definition.isText) {
    const read = (given: unknown): string | undefined => {
      const result = readValue(column, given);
      return result.ok && result.json !== null ? String(result.json) : undefined;
    };
    const type = definition.sqlType;
    return { sql: `${plainValue(column, value)}::${type}`, type, read };
  }
  const read = (given: unknown): string | undefined => {
    const result = readValue({ type: "text" }, typeof given === "boolean" ? String(given) : given);
    return result.ok ? String(result.json) : undefined;
  };
  const text = definition.isText
    ? `nullif(${value},'')`
    : column.localizedValue || !definition.categoryText
      ? `${value} #>> '{}'`
      : definition.categoryText(value);
  return { sql: text, type: "text", read };
}
