import { type Languages, readableSql } from "../catalog/readable.js";
import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { failed, Reasons } from "../errors.js";
import type { Values } from "./sql.js";

/** Columns of a layer as they are read: which have values, and the SQL of a value as JSON and for comparing. */

export type { Languages };

const valuesOf = new WeakMap<LayerNode, readonly Column[]>();

/** Every column with values, in the layer's order; the same array for the same layer. */
export function valueColumns(layer: LayerNode): readonly Column[] {
  let columns = valuesOf.get(layer);
  if (!columns) {
    columns = layer.columns.filter(hasValues);
    valuesOf.set(layer, columns);
  }
  return columns;
}

const byCode = new WeakMap<LayerNode, ReadonlyMap<string, Column>>();

/** The column with that code, or undefined. */
export function findColumn(layer: LayerNode, code: string): Column | undefined {
  let columns = byCode.get(layer);
  if (!columns) {
    columns = new Map(layer.columns.map((column) => [column.code, column]));
    byCode.set(layer, columns);
  }
  return columns.get(code);
}

/**
 * The columns with those codes, each once, in the order asked for; geometry and titles are left out, since `fields` never
 * holds them.
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
  if (!unknown.empty) throw unknownColumns(unknown);
  return [...chosen];
}

/** @param reasons by the codes */
export const unknownColumns = (reasons: Reasons) =>
  failed("unknown_column", "The layer has no such column.", reasons.data);

/** Whether a value has a text or number for each language. */
export const isLocalised = (column: Column): boolean => column.localizedValue && !isId(column);

/**
 * SQL of a column's value for comparing and sorting, null where it has none; a localised value that is no text is jsonb.
 * @param language which value of a localised column it is
 */
export function comparable(column: Column, language: string, values: Values): string {
  const name = column.physical;
  if (!isLocalised(column)) return name;
  const code = `${values.bind(language)}::text`;
  return isText(column) ? `(${name}->>${code})` : `nullif(${name}->${code},'null')`;
}

/** As `comparable`, for what people read: where the request's language has no value, that of another. */
export const readableValue = (column: Column, languages: Languages, values: Values): string =>
  isLocalised(column)
    ? readableSql(column, column.physical, languages, (code) => values.bind(code))
    : column.physical;

/** SQL of what `readableValue` gives as JSON text; never null. */
export function readableJson(column: Column, languages: Languages, values: Values): string {
  if (!isLocalised(column)) return jsonValue(column, languages.own, values);
  const value = readableValue(column, languages, values);
  return isText(column) ? `coalesce(to_json(${value})::text,'null')` : `coalesce(${value}::text,'null')`;
}

/** SQL of a column's value as JSON text; never null. `language` is as in `comparable`. */
export function jsonValue(column: Column, language: string, values: Values): string {
  const name = column.physical;
  if (isId(column)) return name;
  if (column.localizedValue) return `coalesce((${name}->${values.bind(language)}::text)::text,'null')`;
  return definitionOf(column).jsonText(name);
}
