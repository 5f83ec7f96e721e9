import { type Languages, readableSql } from "../catalog/localized-value.js";
import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { type Failure, failed, Reasons } from "../errors.js";
import { didYouMean } from "../near-name.js";
import { onceForEach } from "../once.js";
import type { Values } from "./sql.js";

/** How a layer's columns are read: which have values, and the SQL of a value as JSON and for comparison. */

export type { Languages };

/** Every column with values, in the layer's order; the same array for the same layer. */
export const valueColumns = onceForEach(({ columns }: LayerNode): readonly Column[] =>
  columns.filter(hasValues),
);

const columnsByCode = onceForEach(
  ({ columns }: Pick<LayerNode, "columns">) => new Map(columns.map((column) => [column.code, column])),
);

/** The column with that code, or undefined. */
export const findColumn = (layer: Pick<LayerNode, "columns">, code: string): Column | undefined =>
  columnsByCode(layer).get(code);

/**
 * The columns with these codes, without duplicates and in the order of the codes. Geometry and title columns are left out:
 * they are never part of `fields`.
 * @throws Failure unknown_column
 */
export function columnsOf(layer: LayerNode, codes: readonly string[]): Column[] {
  const chosen = new Set<Column>();
  const unknown = new Reasons();
  for (const code of new Set(codes)) {
    const column = findColumn(layer, code);
    if (!column) unknown.add(code, "The layer has no such column.");
    else if (hasValues(column)) chosen.add(column);
  }
  if (!unknown.empty) throw unknownColumns(layer, unknown);
  return [...chosen];
}

type Columns = Pick<LayerNode, "columns">;

const codesOf = ({ columns }: Columns): string[] => columns.map(({ code }) => code);

/** @param reasons by column code */
export function unknownColumns(layer: Columns, reasons: Reasons): Failure {
  const { names, only } = reasons;
  const end = only === undefined ? "." : didYouMean(only, codesOf(layer));
  return failed("unknown_column", `The layer has no column ${names}${end}`, reasons.data);
}

/** For a column without values too, a title. */
export function noValueColumn(layer: Columns, code: string, reason: string): Failure {
  const reasons = Reasons.of(code, reason);
  if (!findColumn(layer, code)) return unknownColumns(layer, reasons);
  return failed("unknown_column", `The column ${reasons.names} has no values.`, reasons.data);
}

/** Whether a value has a text or number for each language. */
export const isLocalised = (column: Column): boolean => column.localizedValue && !isId(column);

/**
 * SQL of a column's value for comparison and sorting; null when it is empty. A localised value is text for text columns,
 * else jsonb.
 * @param language language of the value of a localised column
 */
export function comparable(column: Column, language: string, values: Values): string {
  const name = column.physical;
  if (!isLocalised(column)) return name;
  const code = `${values.bind(language)}::text`;
  return isText(column) ? `(${name}->>${code})` : `nullif(${name}->${code},'null')`;
}

/** As `comparable`, for display: falls back to another language when the request's language has no value. */
export const readableValue = (column: Column, languages: Languages, values: Values): string =>
  isLocalised(column)
    ? readableSql(column, column.physical, languages, (code) => values.bind(code))
    : column.physical;

/** SQL of `readableValue` as JSON text; never null. */
export function readableJson(column: Column, languages: Languages, values: Values): string {
  if (!isLocalised(column)) return jsonValue(column, languages.own, values);
  const value = readableValue(column, languages, values);
  return isText(column) ? `coalesce(to_json(${value})::text,'null')` : `coalesce(${value}::text,'null')`;
}

/** SQL of a column's value as JSON text; never null. `language` as for `comparable`. */
export function jsonValue(column: Column, language: string, values: Values): string {
  const name = column.physical;
  if (isId(column)) return name;
  if (column.localizedValue) return `coalesce((${name}->${values.bind(language)}::text)::text,'null')`;
  return definitionOf(column).jsonText(name);
}
