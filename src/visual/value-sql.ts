import { type Languages, readableSql } from "../catalog/localized-value.js";
import { plainValue } from "../catalog/plain-value.js";
import { type Column, isId } from "../catalog/state.js";
import { definitionOf, isText } from "../column-types/column-types.js";
import type { ColumnValue } from "../column-types/definition.js";
import { shownText } from "../style/label-text.js";
import type { Limit, Range } from "./values.js";

/**
 * SQL of a column's values for visualizations, as numbers or as categories. For localised columns the value that tiles are
 * drawn with.
 */

export interface ValueContext {
  readonly languages: Languages;
  /** Gives a placeholder or a literal for a text. */
  readonly bind: (text: string) => string;
  /** Name of the objects' table in the statement. */
  readonly table?: string;
}

/** SQL of a value; of a localised column as `readableSql` gives it. */
function readable(column: Column, { languages, bind, table }: ValueContext): string {
  const name = table === undefined ? column.physical : `${table}.${column.physical}`;
  return column.localizedValue && !isId(column) ? readableSql(column, name, languages, bind) : name;
}

/** SQL of a column's values as finite numbers; undefined for types without a numeric scale. */
export function measure(column: Column, context: ValueContext): string | undefined {
  const scale = definitionOf(column).measure;
  if (!scale) return undefined;
  const value = plainValue(column, readable(column, context));
  return column.localizedValue || isId(column) ? scale.number(value) : scale.finiteNumber(value);
}

/** Hundreds of numbers up to this can be added and multiplied by sizes. */
const mostCalculable = 1e300;
/** Products of two numbers that are not smaller are not rounded to 0. */
const leastCalculable = 1e-150;

/** The number that a value counts as in calculations. */
export const calculable = (value: number): number =>
  Math.abs(value) < leastCalculable ? 0 : Math.min(mostCalculable, Math.max(-mostCalculable, value));

/**
 * As `measure`, for calculations: values near the limits of numbers count as smaller ones, as `calculable` has them, and those
 * so near to 0 that PostgreSQL refuses what it would round to 0 count as 0.
 */
export function quantity(column: Column, context: ValueContext): string | undefined {
  const value = measure(column, context);
  if (value === undefined || column.type !== "number" || isId(column)) return value;
  const most = `${mostCalculable}::float8`;
  const limited = (x: string) =>
    `case when ${x} > ${most} then ${most} when ${x} < -${most} then -${most} when abs(${x}) < ${leastCalculable}::float8 then 0 else ${x} end`;
  return column.localizedValue
    ? `(select ${limited("v$.x$")} from (select ${value} as x$ offset 0) v$)`
    : limited(`(${value})`);
}

/** A numeric value in the form of the column's JSON. */
export const shownValue = (column: Column, value: number): Limit =>
  definitionOf(column).measure?.shown(value) ?? value;

/** A column's values as categories. */
export interface CategoryValue {
  /** SQL of the value; null when empty. */
  readonly sql: string;
  /** Its SQL type. */
  readonly type: string;
  /** Text of that type for the value of a class; undefined when no object can have it. */
  readonly read: (given: unknown) => string | undefined;
}

export function categoryValue(column: Column, context: ValueContext): CategoryValue {
  const definition = definitionOf(column);
  const value = readable(column, context);
  if (definition.isComparable && !definition.isText) {
    const read = (given: unknown) => textOf(definition.read(given));
    const type = definition.sqlType;
    return { sql: `${plainValue(column, value)}::${type}`, type, read };
  }
  const text = definitionOf({ type: "text" });
  const read = (given: unknown) => textOf(text.read(typeof given === "boolean" ? String(given) : given));
  const sql = definition.isText
    ? `nullif(${value},'')`
    : column.localizedValue || !definition.categoryText
      ? `${value} #>> '{}'`
      : definition.categoryText(value);
  return { sql, type: "text", read };
}

const textOf = (value: ColumnValue): string | undefined =>
  value.ok && value.json !== null ? String(value.json) : undefined;

/** SQL of a column's value as the text of a label. */
export function labelText(column: Column, context: ValueContext): string {
  const value = readable(column, context);
  if (isId(column)) return `${value}::text`;
  if (column.localizedValue) return shownText(isText(column) ? value : `${value} #>> '{}'`);
  const { labelText: own, styleValue } = definitionOf(column);
  return own?.(value) ?? shownText(`(${styleValue(value)})::text`);
}

/** SQL of a value's place in a range of all objects of the layer, carried over to another range. */
export const within = (value: string, range: Range | null, [from, to]: Range): string => {
  if (!range || range[0] === range[1]) return `case when (${value}) is not null then ${to}::float8 end`;
  const part = `((${value}) - ${range[0]}::float8) / (${range[1]}::float8 - ${range[0]}::float8)`;
  return `(${from} + ${to - from} * least(1, greatest(0, ${part})))`;
};
