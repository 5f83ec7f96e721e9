import { type Column, isId } from "../catalog/state.js";
import { definitionOf, isText } from "../column-types/column-types.js";
import { type ColumnValue, empty } from "../column-types/definition.js";
import { numberPattern } from "../column-types/number.js";

/** Reads values of a column from requests. */

/** SQL type of a bound value of the column; localised columns store jsonb. */
export const boundType = (column: Column): string => (isId(column) ? "bigint" : definitionOf(column).sqlType);

/** Reads a value, of one language if the column is localised, by the column's type. */
export const readValue = (column: Pick<Column, "type">, value: unknown): ColumnValue =>
  value === null || value === undefined ? empty : definitionOf(column).read(value);

/** The right side of a comparison: the bound value, and the SQL around its placeholder. */
export interface Comparison {
  readonly value: unknown;
  readonly wrap: (placeholder: string) => string;
}

/** Reads the text of a filter as a value of the column; undefined when no value of the column can equal it. */
export function readComparison(column: Column, text: string): Comparison | undefined {
  if (isId(column)) {
    const id = numberPattern.test(text.trim()) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(id)
      ? { value: id, wrap: (placeholder) => `${placeholder}::bigint` }
      : undefined;
  }
  const { read, readFilter = read } = definitionOf(column);
  const value = readFilter(text);
  if (!value.ok || value.json === null) return undefined;
  if (column.localizedValue && !isText(column)) {
    return { value: JSON.stringify(value.json), wrap: (placeholder) => `${placeholder}::text::jsonb` };
  }
  return { value: value.bound, wrap: (placeholder) => `${placeholder}::${boundType(column)}` };
}
