import type { Column, LayerNode } from "../catalog/state.js";
import { failed } from "../errors.js";
import type { Values } from "./sql.js";

/** Columns of a layer as they are read: which have values, and the SQL of a value as JSON and for comparing. */

/** Languages of an answer: the request's, and the map's main one, which stands in. */
export interface Languages {
  readonly own: string;
  readonly main: string;
}

/** Whether the column has values in `fields`: geometry and titles have none. */
export const hasValues = (column: Column): boolean => column.type !== "geom" && column.type !== "title";

/** Whether it is the object id, made by the server. */
export const isId = (column: Column): boolean => column.physical === "svc_id";

const isText = (column: Column): boolean => column.type === "string" || column.type === "text";

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

/** The column with that code, or undefined. */
export const findColumn = (layer: LayerNode, code: string): Column | undefined =>
  layer.columns.find((column) => column.code === code);

/**
 * The columns with those codes, each once, in the order asked for; geometry and titles are left out, since `fields` never
 * holds them.
 * @throws Failure unknown_column
 */
export function columnsOf(layer: LayerNode, codes: readonly string[]): Column[] {
  const chosen = new Set<Column>();
  const unknown: Record<string, string> = Object.create(null);
  for (const code of codes) {
    const column = findColumn(layer, code);
    if (!column) unknown[code] = "The layer has no such column.";
    else if (hasValues(column)) chosen.add(column);
  }
  if (Object.keys(unknown).length > 0) throw unknownColumns(unknown);
  return [...chosen];
}

/** @param columns code → reason */
export const unknownColumns = (columns: Readonly<Record<string, string>>) =>
  failed("unknown_column", "The layer has no such column.", { columns });

/** SQL of what a reader sees in a localised column: its language's value, else the main one's, else any. */
function localizedValue(column: Column, languages: Languages, values: Values): string {
  const name = column.physical;
  const codes = languages.own === languages.main ? [languages.own] : [languages.own, languages.main];
  if (isText(column)) {
    const choices = codes.map((code) => `nullif(${name}->>${values.bind(code)}::text,'')`);
    return `coalesce(${choices.join(",")},(select e.value from jsonb_each_text(${name}) e where e.value <> '' limit 1))`;
  }
  const choices = codes.map((code) => `nullif(${name}->${values.bind(code)}::text,'null')`);
  return `coalesce(${choices.join(",")},(select e.value from jsonb_each(${name}) e where e.value <> 'null' limit 1))`;
}

/** SQL of a column's value for comparing and sorting; a localised value that is no text is jsonb. */
export const comparable = (column: Column, languages: Languages, values: Values): string =>
  column.localizedValue && !isId(column) ? localizedValue(column, languages, values) : column.physical;

/** SQL of a column's value as JSON text; never null. */
export function jsonValue(column: Column, languages: Languages, values: Values): string {
  if (isId(column)) return "svc_id";
  if (column.localizedValue) {
    const value = localizedValue(column, languages, values);
    return isText(column) ? `coalesce(to_json(${value})::text,'null')` : `coalesce(${value}::text,'null')`;
  }
  const name = column.physical;
  switch (column.type) {
    case "number":
      // NaN and the infinities, which SQL clients can store, have no JSON number.
      return `case when ${name} between -1.7976931348623157e308 and 1.7976931348623157e308 then ${name}::text else 'null' end`;
    case "bool":
    case "json":
      return `coalesce(${name}::text,'null')`;
    case "datetime":
      // Sessions run in UTC (storage/postgres.ts), so the offset is always +00:00.
      return `coalesce(replace(to_json(${name})::text,'+00:00','Z'),'null')`;
    case "file":
      return `coalesce('"'||array_to_string(${name},',')||'"','null')`;
    default:
      return `coalesce(to_json(${name})::text,'null')`;
  }
}
