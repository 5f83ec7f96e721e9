import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues } from "../column-types/column-types.js";
import { failed } from "../errors.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import {
  columnsOf,
  comparable,
  findColumn,
  type Languages,
  noValueColumn,
  valueColumns,
} from "./column-sql.js";
import { filterSql } from "./filter-language.js";
import type { GeometryShape, Srid } from "./geometry-sql.js";
import { columnsRead, featureJson, type ObjectShape, objectJson } from "./item.js";
import { layerTable, type Statement, Values } from "./sql.js";
import type { Translations } from "./translations.js";
import { readComparison } from "./values.js";

/** Builds the SQL statements of object lists. */

export interface SortKey {
  readonly code: string;
  readonly descending: boolean;
}

export interface ListRequest {
  /** Column codes; "all" = all columns; undefined = items without `fields`. */
  readonly fields: readonly string[] | "all" | undefined;
  /** Only objects whose column equals the value; "" matches empty text and null. */
  readonly filter?: { readonly code: string; readonly value: string } | undefined;
  /** Only objects that this text in the filter language selects; it compares localised values of `languages.own`. */
  readonly condition?: string | undefined;
  /** Only these objects; unknown ids are ignored. */
  readonly ids?: readonly number[] | undefined;
  readonly sort: readonly SortKey[];
  readonly offset: number;
  /** Only objects with a higher id. */
  readonly after?: number | undefined;
  /** Only objects with this id or a lower one. */
  readonly upTo?: number | undefined;
  /** undefined = the whole list. */
  readonly limit?: number | undefined;
  /** Only objects whose geometry intersects this box; west > east crosses the antimeridian. */
  readonly envelope?: GeoEnvelope | undefined;
  readonly bbox?: Srid | undefined;
  readonly geom?: GeometryShape | undefined;
  readonly languages: Languages;
  /** One property per language for localised columns, instead of one value. */
  readonly translations?: Translations | undefined;
  /** Form of a row: an item of the API's list, a GeoJSON Feature, or one of a sequence (RFC 8142). */
  readonly form: "items" | "features" | "sequence";
  /** Whether rows have the `id` of their object. */
  readonly withIds?: boolean;
}

/** Which objects a statement reads. */
export type Selection = Pick<ListRequest, "condition" | "ids" | "envelope" | "languages">;

/**
 * The statement of a list; each row has one object as JSON text `o`.
 * @throws Failure unknown_column, filter_column_not_listed
 */
export function listStatement(layer: LayerNode, request: ListRequest): Statement {
  const fields = fieldsOf(layer, request);
  const { geom, bbox, languages, translations, form } = request;
  const features = form !== "items";
  // Features have all id columns: svc_id and its alias.
  const shown = features ? [...new Set([...layer.columns.filter(isId), ...(fields ?? [])])] : fields;
  const shape: ObjectShape = { fields: shown, geom, bbox, languages, translations };
  const values = new Values();
  const names = columnsRead(features ? { ...shape, geom: shape.geom ?? { srid: 4326 } } : shape);
  const inner = pickedRows(layer, request, names, values);
  const json = features ? featureJson(shape, values) : objectJson(shape, values);
  const text = form === "sequence" ? `chr(30)||${json}||chr(10)` : json;
  return { text: `select ${text} as o${idOf(request)} from (${inner}) picked`, values: values.list };
}

/**
 * As `listStatement`, with a text of each object.
 * @throws Failure unknown_column, filter_column_not_listed
 */
export function listedTexts(
  layer: LayerNode,
  request: Omit<ListRequest, "form">,
  { reads, text }: Pick<RowText, "reads" | "text">,
): Statement {
  const values = new Values();
  const inner = pickedRows(layer, request, [...reads, "svc_id"], values);
  return { text: `select ${text} as o${idOf(request)} from (${inner}) picked`, values: values.list };
}

/** The ids of a list. @throws Failure as `listStatement` */
export function listedIds(layer: LayerNode, request: Omit<ListRequest, "form">): Statement {
  const values = new Values();
  const inner = pickedRows(layer, request, ["svc_id"], values);
  return { text: `select svc_id as id from (${inner}) picked`, values: values.list };
}

/** How many objects a list has as a whole. @throws Failure as `listStatement` */
export function countStatement(layer: LayerNode, request: Omit<ListRequest, "form">): Statement {
  const values = new Values();
  const conditions = filtered(layer, { ...request, after: undefined, upTo: undefined }, values);
  return {
    text: `select count(*) as n from ${layerTable(layer.id)}${where(conditions)}`,
    values: values.list,
  };
}

const idOf = ({ withIds }: Pick<ListRequest, "withIds">): string => (withIds ? ",svc_id as id" : "");

const fieldsOf = (layer: LayerNode, { fields }: Pick<ListRequest, "fields">) =>
  fields === "all" ? valueColumns(layer) : fields && columnsOf(layer, fields);

/**
 * SQL of the rows of a list, in their order. It selects rows, and what is around it makes texts of those after `offset` only.
 * OFFSET also prevents the planner from merging the two.
 */
function pickedRows(
  layer: LayerNode,
  request: Omit<ListRequest, "form">,
  reads: readonly string[],
  values: Values,
): string {
  const conditions = filtered(layer, request, values);
  const order = orderBy(layer, request, values);
  const limit = request.limit === undefined ? "" : ` limit ${values.bind(request.limit)}::bigint`;
  return (
    `select ${reads.join(",")} from ${layerTable(layer.id)}${where(conditions)}` +
    ` order by ${order}${limit} offset ${values.bind(request.offset)}::bigint`
  );
}

function filtered(layer: LayerNode, request: Omit<ListRequest, "form">, values: Values): string[] {
  const { filter, after, upTo } = request;
  const conditions = selected(layer, request, values);
  if (filter)
    conditions.push(equals(filterColumn(layer, filter.code, fieldsOf(layer, request)), request, values));
  if (after !== undefined) conditions.push(`svc_id > ${values.bind(after)}::bigint`);
  if (upTo !== undefined) conditions.push(`svc_id <= ${values.bind(upTo)}::bigint`);
  return conditions;
}

/** SQL of the conditions that select the objects. @throws Failure unknown_column, invalid_value */
export function selected(layer: LayerNode, request: Selection, values: Values): string[] {
  const { condition, ids, envelope, languages } = request;
  const conditions: string[] = [];
  // As an array literal: the driver takes six times as long to serialize an array.
  if (ids) conditions.push(`svc_id = any(${values.bind(`{${ids.join(",")}}`)}::bigint[])`);
  if (envelope) conditions.push(intersects(layer, envelope, values));
  if (condition)
    conditions.push(filterSql(condition, { columns: layer.columns, language: languages.own, values }));
  return conditions;
}

const where = (conditions: readonly string[]): string =>
  conditions.length > 0 ? ` where ${conditions.join(" and ")}` : "";

/** SQL without placeholders. */
export interface RowText {
  /** Of the columns that `text` reads, over a row of the layer's table: "svc_id", "c12->>'en' as v1". */
  readonly reads: readonly string[];
  /** Of the row's text. */
  readonly text: string;
  /** Of `n`, which `text` reads: from row_number(). */
  readonly number?: string;
  /** A further condition. */
  readonly where?: string;
}

/**
 * A statement with one text `o` for each object, in the order of their ids.
 * @throws Failure unknown_column, invalid_value
 */
export function rowsStatement(layer: LayerNode, selection: Selection, row: RowText): Statement {
  const values = new Values();
  const conditions = [...selected(layer, selection, values), ...(row.where ? [row.where] : [])];
  const from = `${layerTable(layer.id)}${where(conditions)}`;
  // OFFSET prevents the planner from copying what `reads` computes to each of its uses.
  const inner = `select ${row.reads.join(",")} from ${from} order by svc_id offset 0`;
  const rows = row.number ? `select *,${row.number} as n from (${inner}) rows` : inner;
  return { text: `select ${row.text} as o from (${rows}) picked`, values: values.list };
}

/**
 * A statement over the objects.
 * @param reads as of `RowText`
 * @param select SQL that follows "select": what to select `from ${rows}`, without placeholders
 */
export function surveyStatement(
  layer: LayerNode,
  selection: Selection,
  reads: readonly string[],
  select: (rows: string) => string,
): Statement {
  const values = new Values();
  const conditions = where(selected(layer, selection, values));
  const rows = `(select ${reads.join(",")} from ${layerTable(layer.id)}${conditions} offset 0) picked`;
  return { text: `select ${select(rows)}`, values: values.list };
}

function filterColumn(layer: LayerNode, code: string, fields: readonly Column[] | undefined): Column {
  const column = findColumn(layer, code);
  if (!column || !hasValues(column)) throw noValueColumn(layer, code, "The list cannot be filtered by it.");
  if (!fields?.includes(column)) {
    throw failed("filter_column_not_listed", "The filter column (fcode) must be listed in fields.", {
      column: code,
    });
  }
  return column;
}

function equals(column: Column, request: Omit<ListRequest, "form">, values: Values): string {
  const value = request.filter?.value ?? "";
  const left = comparable(column, request.languages.own, values);
  if (value === "") {
    // An empty localised value that is not text is null.
    const { isText, emptyConstant } = definitionOf(column);
    if (emptyConstant === undefined || (column.localizedValue && !isText)) return `${left} is null`;
    return `(${left} is null or ${left} = ${emptyConstant})`;
  }
  const comparison = readComparison(column, value);
  return comparison ? `${left} = ${comparison.wrap(values.bind(comparison.value))}` : "false";
}

function orderBy(layer: LayerNode, request: Omit<ListRequest, "form">, values: Values): string {
  const terms: string[] = [];
  const seen = new Set<Column>();
  for (const { code, descending } of request.sort) {
    const column = findColumn(layer, code);
    if (!column || !hasValues(column)) throw noValueColumn(layer, code, "The list cannot be sorted by it.");
    if (seen.has(column)) continue;
    seen.add(column);
    terms.push(`${comparable(column, request.languages.own, values)}${descending ? " desc" : ""}`);
    if (isId(column)) return terms.join(",");
  }
  // A unique last key gives objects with equal values a fixed order, so that pages do not overlap.
  terms.push("svc_id");
  return terms.join(",");
}

/**
 * SQL of "geom intersects the envelope", which can use the index on geom. An object that lies beyond ±180° is in each copy of
 * the world, and so is a box.
 */
function intersects(layer: LayerNode, envelope: GeoEnvelope, values: Values): string {
  const { west, south, east, north } = envelope;
  const ranges =
    west <= east
      ? [[west, east] as const]
      : [[west, Math.max(west, 180)] as const, [Math.min(east, -180), east] as const];
  const boxes = ranges.flatMap(([west, east]) =>
    (layer.crossesAntimeridian || west < -180 || east > 180 ? [-360, 0, 360] : [0])
      // Longitudes of objects reach from -360 to 360.
      .filter((shift) => west + shift <= 360 && east + shift >= -360)
      .map((shift) => box(west + shift, south, east + shift, north)),
  );
  if (boxes.length === 0) return "false";
  return `(${boxes.map((text) => `st_intersects(geom,${values.bind(text)}::geometry)`).join(" or ")})`;
}

/** EWKT of a box: a polygon, a line when its width or height is 0, a point when both are. */
function box(west: number, south: number, east: number, north: number): string {
  if (west === east && south === north) return `SRID=4326;POINT(${west} ${south})`;
  if (west === east || south === north) return `SRID=4326;LINESTRING(${west} ${south},${east} ${north})`;
  return `SRID=4326;POLYGON((${west} ${south},${west} ${north},${east} ${north},${east} ${south},${west} ${south}))`;
}
