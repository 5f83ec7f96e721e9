import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues } from "../column-types/column-types.js";
import { failed, Reasons } from "../errors.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import {
  columnsOf,
  comparable,
  findColumn,
  type Languages,
  unknownColumns,
  valueColumns,
} from "./columns.js";
import type { GeometryShape, Srid } from "./geometry-sql.js";
import { columnsRead, featureJson, type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import type { Translations } from "./translations.js";
import { readComparison } from "./values.js";

/** The object list as SQL and values: what was asked for, in typed values, becomes one statement. */

export interface SortKey {
  readonly code: string;
  readonly descending: boolean;
}

export interface ListRequest {
  /** Column codes; "all" = every one; undefined = items without `fields`. */
  readonly fields: readonly string[] | "all" | undefined;
  /** Objects whose column equals the value; an empty one matches empty text and null. */
  readonly filter?: { readonly code: string; readonly value: string } | undefined;
  /** Only these objects; ids that nothing has are passed over. */
  readonly ids?: readonly number[] | undefined;
  readonly sort: readonly SortKey[];
  readonly offset: number;
  /** undefined = the whole list. */
  readonly limit?: number | undefined;
  /** Objects whose geometry meets this box; west > east crosses the antimeridian. */
  readonly envelope?: GeoEnvelope | undefined;
  readonly bbox?: Srid | undefined;
  readonly geom?: GeometryShape | undefined;
  readonly languages: Languages;
  /** Localised columns as properties of their languages, in the place of the one value that a reader sees. */
  readonly translations?: Translations | undefined;
  /** What a row is: an item of the contract's list, or a GeoJSON Feature. */
  readonly form: "items" | "features";
}

/**
 * The statement whose rows each have one object as JSON text `o`, in order.
 * @throws Failure unknown_column, filter_column_not_listed
 */
export function listStatement(layer: LayerNode, request: ListRequest): Statement {
  const fields =
    request.fields === "all" ? valueColumns(layer) : request.fields && columnsOf(layer, request.fields);
  const { geom, bbox, languages, translations } = request;
  const features = request.form === "features";
  // Features have the id under each of its names.
  const shown = features ? [...new Set([...layer.columns.filter(isId), ...(fields ?? [])])] : fields;
  const shape: ObjectShape = { fields: shown, geom, bbox, languages, translations };
  const values = new Values();
  const conditions: string[] = [];
  // As the text that it is sent as: the driver takes six times as long to make that of an array.
  if (request.ids) conditions.push(`svc_id = any(${values.bind(`{${request.ids.join(",")}}`)}::bigint[])`);
  if (request.envelope) conditions.push(meets(request.envelope, values));
  if (request.filter)
    conditions.push(equals(filterColumn(layer, request.filter.code, fields), request, values));
  const order = orderBy(layer, request, values);
  const where = conditions.length > 0 ? ` where ${conditions.join(" and ")}` : "";
  const limit = request.limit === undefined ? "" : ` limit ${values.bind(request.limit)}::bigint`;
  const names = columnsRead(features ? { ...shape, geom: shape.geom ?? { srid: 4326 } } : shape);
  // The inner query picks and sorts rows, the outer one makes text of those that remain: objects before `offset` and
  // the sort carry no text. OFFSET also keeps the two from being merged.
  const inner =
    `select ${names.join(",")} from ${layerTable(layer.id)}${where}` +
    ` order by ${order}${limit} offset ${values.bind(request.offset)}::bigint`;
  const json = features ? featureJson(shape, values) : objectJson(shape, values);
  return { text: `select ${json} as o from (${inner}) picked`, values: values.list };
}

function filterColumn(layer: LayerNode, code: string, fields: readonly Column[] | undefined): Column {
  const column = findColumn(layer, code);
  if (!column || !hasValues(column))
    throw unknownColumns(Reasons.of(code, "The list cannot be filtered by it."));
  if (!fields?.includes(column)) {
    throw failed("filter_column_not_listed", "The filter column (fcode) must be listed in fields.", {
      column: code,
    });
  }
  return column;
}

function equals(column: Column, request: ListRequest, values: Values): string {
  const value = request.filter?.value ?? "";
  const left = comparable(column, request.languages.own, values);
  if (value === "") {
    // A localised value is text, or JSON that is null when it is empty.
    const { isText, emptyConstant } = definitionOf(column);
    if (emptyConstant === undefined || (column.localizedValue && !isText)) return `${left} is null`;
    return `(${left} is null or ${left} = ${emptyConstant})`;
  }
  const comparison = readComparison(column, value);
  return comparison ? `${left} = ${comparison.wrap(values.bind(comparison.value))}` : "false";
}

function orderBy(layer: LayerNode, request: ListRequest, values: Values): string {
  const terms: string[] = [];
  const seen = new Set<Column>();
  for (const { code, descending } of request.sort) {
    const column = findColumn(layer, code);
    if (!column || !hasValues(column))
      throw unknownColumns(Reasons.of(code, "The list cannot be sorted by it."));
    if (seen.has(column)) continue;
    seen.add(column);
    terms.push(`${comparable(column, request.languages.own, values)}${descending ? " desc" : ""}`);
    if (isId(column)) return terms.join(",");
  }
  // Objects with equal values keep one order, so that pages do not overlap.
  terms.push("svc_id");
  return terms.join(",");
}

/** SQL of "geom meets the envelope", with the index on geom. */
function meets(envelope: GeoEnvelope, values: Values): string {
  const { west, south, east, north } = envelope;
  const boxes =
    west <= east
      ? [box(west, south, east, north)]
      : [box(west, south, Math.max(west, 180), north), box(Math.min(east, -180), south, east, north)];
  return `(${boxes.map((text) => `st_intersects(geom,${values.bind(text)}::geometry)`).join(" or ")})`;
}

/** EWKT of a box, with as many dimensions as it has: a box without width is a line, one without either a point. */
function box(west: number, south: number, east: number, north: number): string {
  if (west === east && south === north) return `SRID=4326;POINT(${west} ${south})`;
  if (west === east || south === north) return `SRID=4326;LINESTRING(${west} ${south},${east} ${north})`;
  return `SRID=4326;POLYGON((${west} ${south},${west} ${north},${east} ${north},${east} ${south},${west} ${south}))`;
}
