import { type Column, isId } from "../catalog/state.js";
import { definitionOf, isText } from "../column-types/column-types.js";
import { type ColumnValue, empty } from "../column-types/definition.js";
import { numberPattern } from "../column-types/number.js";

/** Values of one column: from what a client sent to what is bound. */

/** SQL type that a bound value of the column has; localised columns hold jsonb. */
export const boundType = (column: Column): string => (isId(column) ? "bigint" : definitionOf(column).sqlType);

/** Reads a value for a column by its type, apart from languages. */
export const readValue = (column: Pick<Column, "type">, value: unknown): ColumnValue =>
  value === null || value === undefined ? empty : definitionOf(column).read(value);

/** What a column is compared with: the bound value, and the SQL around its placeholder. */
export interface Comparison {
  readonly value: unknown;
  readonly wrap: (placeholder: string) => string;
}

/** A filter's text as a value of the column; undefined when no value of the column can equal it. */
export function readComparison(column: Column, text: string): Comparison | undefined {
  if (isId(column)) {
    const id = numberPattern.test(text.trim()) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(id) ? { value: id, wrap: (at) => `${at}::bigint` } : undefined;
  }
  const { read, readFilter = read } = definitionOf(column);
  const value = readFilter(text);
  if (!value.ok || value.json === null) return undefined;
  if (column.localizedValue && !isText(column)) {
    return { value: JSON.stringify(value.json), wrap: (at) => `${at}::text::jsonb` };
  }
  return { value: value.bound, wrap: (at) => `${at}::${boundType(column)}` };
}
