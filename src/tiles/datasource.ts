import { layerTable } from "../catalog/layer-table.js";
import { readableSql } from "../catalog/localized-value.js";
import type { Column, LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { mercatorHalf } from "../geo/tile.js";
import { filterToSql, textLiteral } from "../style/filter-sql.js";
import type { CompiledStyle, Rule, Symbolizer } from "../style/model.js";
import { columnValuePattern } from "../style/picture-path.js";
import { safeColumn } from "../style/pictures.js";

/**
 * Parameters of Mapnik's PostGIS plugin for a layer. Mapnik finds values by the codes of the columns, so here codes are
 * names in SQL. Names of our own end in `$`, which no code contains (catalog/codes.ts).
 */

/** Zooms up to which generalized geometry is stored, one table each. Above the last, objects are drawn as they are. */
export const bandZooms = [4, 6, 8, 10] as const;

/** The generalized table for a zoom: the coarsest that is fine enough; undefined = the objects themselves. */
export const bandOf = (bands: readonly number[], zoom: number): number | undefined =>
  bands.find((band) => zoom <= band);

/** Up to this zoom points that fall on one pixel are thinned. Above, that costs more than it saves. */
const thinningZoom = 9;

export interface DatasourceOptions {
  readonly language: string;
  readonly mainLanguage: string;
  /** Zoom of 256-pixel tiles of the same resolution: the tile's zoom, one more for retina 2. */
  readonly zoom: number;
  /** Scale denominator by which Mapnik selects rules. */
  readonly scaleDenominator: number;
}

/** Parameters of the PostGIS plugin. The connection comes from the host's environment. */
export function datasource(
  layer: LayerNode,
  style: CompiledStyle,
  options: DatasourceOptions,
): Record<string, string> {
  const side = mercatorHalf * 1.001;
  return {
    type: "postgis",
    table: `(${style.query?.(options) ?? layerQuery(layer, style, options)}) as layer$`,
    geometry_field: "geom$",
    key_field: "svc_id",
    srid: "3857",
    extent: `${-side},${-side},${side},${side}`,
    estimate_extent: "false",
    asynchronous_request: "false",
    max_async_connection: "1",
    initial_size: "1",
    max_size: "16",
    connect_timeout: "5",
  };
}

/** The statement; `!bbox!` and `!pixel_width!` are Mapnik's tokens. Objects are ordered by id, so that adjacent metatiles place labels alike. */
function layerQuery(layer: LayerNode, style: CompiledStyle, options: DatasourceOptions): string {
  const table = layerTable(layer.id);
  const band = bandOf(layer.bands, options.zoom);
  const isView = layer.type === "virtual";
  const bandTable = `${isView ? layerTable(layer.sourceId ?? layer.id) : table}_z${band}`;
  const columns = new Map(layer.columns.map((column) => [column.code, column]));
  const fields = style.fields.filter((code) => code !== "svc_id");
  const pictureFields = style.pictureFields ?? [];
  const selected = [
    ...fields.map((code) => `, ${fieldSql(columns.get(code), options)} as "${code}"`),
    ...pictureFields.map(
      (code) => `, ${nameOfFileSql(fieldSql(columns.get(code), options))} as "${safeColumn(code)}"`,
    ),
  ].join("");
  const names = [...fields, ...pictureFields.map(safeColumn)];
  const source = (dx: number): string => {
    const moved = (geometry: string) => (dx === 0 ? geometry : `st_translate(${geometry}, ${dx}, 0)`);
    const box = dx === 0 ? "!bbox!" : `st_translate(!bbox!, ${-dx}, 0)`;
    if (band === undefined)
      return `select o$.svc_id, ${moved("o$.geom_3857")} as geom$${selected} from ${table} o$ where o$.geom_3857 && ${box}`;
    // A view has no generalized tables: those of its source are joined with the view's objects.
    const objects = names.length > 0 || isView ? ` join ${table} o$ on o$.svc_id = b$.svc_id` : "";
    return `select b$.svc_id, ${moved("b$.geom")} as geom$${selected} from ${bandTable} b$${objects} where b$.geom && ${box}`;
  };
  // Objects beyond the edges of the world are drawn at the other edge too.
  const copies = layer.crossesAntimeridian ? [0, -2 * mercatorHalf, 2 * mercatorHalf] : [0];
  const from = copies.map(source).join(" union all ");
  const thinned =
    layer.geometryKind === "Point" && options.zoom <= thinningZoom
      ? thinning(style, columns, options)
      : undefined;
  if (thinned === undefined) return `${from} order by 1`;
  return (
    `with q$ as (${from}) select svc_id, geom$${names.map((name) => `, "${name}"`).join("")} from (` +
    `(select distinct on (px$, py$, kind$) * from (select q$.*, ${thinned.keep} as keep$, ${thinned.kind} as kind$, ` +
    `floor(st_x(q$.geom$) / !pixel_width!) as px$, floor(st_y(q$.geom$) / !pixel_width!) as py$ from q$ ` +
    `where st_geometrytype(q$.geom$) = 'ST_Point') c$ where not keep$ order by px$, py$, kind$, svc_id) ` +
    `union all (select q$.*, true, 0, 0, 0 from q$ where st_geometrytype(q$.geom$) <> 'ST_Point' or ${thinned.keep})` +
    `) points$ order by 1`
  );
}

function fieldSql(column: Column | undefined, options: DatasourceOptions): string {
  if (!column || !hasValues(column)) return "null::text";
  const name = `o$.${column.physical}`;
  if (column.localizedValue) {
    const languages = { own: options.language, main: options.mainLanguage };
    const value = readableSql(column, name, languages, textLiteral);
    return isText(column) ? value : `${value} #>> '{}'`;
  }
  return definitionOf(column).styleValue(name);
}

/** A value that Mapnik makes a part of a file's name: null unless nothing in it can lead elsewhere. */
const nameOfFileSql = (sql: string): string =>
  `case when (${sql})::text ~ '^${columnValuePattern}$' then (${sql})::text end`;

/**
 * Of points that fall on one pixel and match the same rules, one is enough if these rules only draw the same opaque
 * marker. Points under other rules (labels, sizes by value) are all kept. Undefined = a rule of the style cannot be
 * written in SQL, so everything is drawn.
 */
function thinning(
  style: CompiledStyle,
  columns: ReadonlyMap<string, Column>,
  options: DatasourceOptions,
): { readonly keep: string; readonly kind: string } | undefined {
  const keep: string[] = [];
  const kinds: string[] = [];
  for (const rule of style.styles.flatMap((one) => one.rules)) {
    if (!appliesAt(rule, options.scaleDenominator)) continue;
    const sql =
      rule.filter === undefined
        ? "true"
        : filterToSql(rule.filter, (code) => sqlColumn(columns.get(code), code));
    if (sql === undefined) return undefined;
    if (rule.symbolizers.every(isOpaqueMarker)) {
      if (rule.filter !== undefined) kinds.push(`case when ${sql} then ${2 ** kinds.length} else 0 end`);
    } else if (sql === "true") return undefined;
    else keep.push(sql);
  }
  if (kinds.length > 30) return undefined;
  return {
    keep: keep.length > 0 ? `(${keep.join(" or ")})` : "false",
    kind: kinds.length > 0 ? `(${kinds.join(" + ")})` : "0",
  };
}

const appliesAt = (rule: Rule, scaleDenominator: number): boolean =>
  scaleDenominator >= (rule.minScaleDenominator ?? 0) - 1e-6 &&
  scaleDenominator < (rule.maxScaleDenominator ?? Number.POSITIVE_INFINITY) + 1e-6;

function isOpaqueMarker(symbolizer: Symbolizer): boolean {
  if (symbolizer.type === "DotSymbolizer") return symbolizer.attributes["comp-op"] === undefined;
  if (symbolizer.type !== "MarkersSymbolizer") return false;
  const attributes = symbolizer.attributes;
  if (attributes["allow-overlap"] !== "true" || attributes["comp-op"] !== undefined || attributes.file)
    return false;
  const opaque = ["opacity", "fill-opacity"].every(
    (name) => attributes[name] === undefined || Number(attributes[name]) === 1,
  );
  const stroked = Number(attributes["stroke-width"] ?? "0.5") > 0;
  const strokeOpaque =
    !stroked || attributes["stroke-opacity"] === undefined || Number(attributes["stroke-opacity"]) === 1;
  return (
    opaque &&
    strokeOpaque &&
    !Object.values(attributes).some((value) => value.includes("[") || /rgba|hsla|transparent/i.test(value))
  );
}

function sqlColumn(
  column: Column | undefined,
  code: string,
): { sql: string; type: "number" | "text" | "bool" | "other" } | undefined {
  if (code === "svc_id") return { sql: "q$.svc_id", type: "number" };
  if (!column) return undefined;
  const sql = `q$."${code}"`;
  if (column.type === "number" || column.type === "bool")
    return { sql, type: column.localizedValue ? "text" : column.type };
  return { sql, type: "text" };
}
