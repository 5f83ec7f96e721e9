import { layerTable } from "../catalog/layer-table.js";
import { readableSql } from "../catalog/localized-value.js";
import type { Column, LayerNode } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { mercatorHalf, topScaleDenominator } from "../geo/tile.js";
import { farthestDrawn, worldCopies } from "../geo/world-copies.js";
import { labelColumn } from "../style/expression.js";
import { textLiteral } from "../style/filter-sql.js";
import { shownText } from "../style/label-text.js";
import type { CompiledStyle } from "../style/model.js";
import { columnValuePattern } from "../style/picture-path.js";
import { safeColumn } from "../style/pictures.js";
import { cutSql, isDrawnAlong } from "./drawn-along.js";
import { isDrawnPlaceByPlace, nearSql } from "./large-shapes.js";
import { smallFeatureLook, smallFeaturesSql } from "./small-features.js";
import {
  areWide,
  drawnThinning,
  finestThinnedZoom,
  looksAlike,
  type ThinningSpec,
  thinningSpec,
} from "./thinning.js";

/**
 * Parameters of Mapnik's PostGIS plugin for a layer. Mapnik finds values by the codes of the columns, so here codes are
 * names in SQL. Names of our own end in `$`, which no code contains (catalog/codes.ts).
 */

/**
 * Zooms up to which objects are read from tables for them: above the last, the statement is the same at all zooms. Points
 * have tables up to zoom 12, lines and polygons up to 10.
 */
export const lastLevelZoom = finestThinnedZoom;

/** The generalized table for a zoom: the coarsest that is fine enough; undefined = the objects themselves. */
export const levelOf = (levels: readonly number[], zoom: number): number | undefined =>
  levels.find((level) => zoom <= level);

/** Up to this zoom points that fall on one pixel are thinned. Above, that costs more than it saves. */
const thinningZoom = 9;

export interface DatasourceOptions {
  readonly language: string;
  readonly mainLanguage: string;
  /** Zoom of 256-pixel tiles of the same resolution: the tile's zoom, one more for retina 2. */
  readonly zoom: number;
  /** Scale denominator by which Mapnik selects rules. */
  readonly scaleDenominator: number;
  /** Whether what is drawn may reach beyond ±180°. */
  readonly atAntimeridian: boolean;
}

/** What the statement of a layer is named in SQL, by which an error of PostgreSQL tells whose it is. */
const statementOf = (layerId: number): string => `layer${layerId}$`;

/** The layer whose statement Mapnik's error holds. Conditions of users may look like the name, but do not end the statement. */
export function layerOfStatement(error: string): number | undefined {
  const id = [...error.matchAll(/\) as layer(\d+)\$/g)].at(-1)?.[1];
  return id === undefined ? undefined : Number(id);
}

/** Parameters of the PostGIS plugin. The connection comes from the host's environment. */
export function datasource(
  layer: LayerNode,
  style: CompiledStyle,
  options: DatasourceOptions,
): Record<string, string> {
  // Mapnik asks for nothing beyond it.
  const [x, y] = [farthestDrawn, mercatorHalf * 1.001];
  return {
    type: "postgis",
    table: `(${style.query?.(options) ?? layerQuery(layer, style, options)}) as ${statementOf(layer.id)}`,
    geometry_field: "geom$",
    key_field: "svc_id",
    srid: "3857",
    extent: `${-x},${-y},${x},${y}`,
    estimate_extent: "false",
    asynchronous_request: "false",
    max_async_connection: "1",
    initial_size: "1",
    max_size: "16",
    connect_timeout: "5",
  };
}

/** The columns of a layer that a style reads, and how. */
interface Read {
  readonly columns: ReadonlyMap<string, Column>;
  /** Codes and other names of what is read. */
  readonly names: readonly string[];
  /** SQL of a value of the object `o$`. */
  readonly valueSql: (column: Column | undefined) => string;
  /** SQL of all of them, each after a comma. */
  readonly selected: string;
}

function readBy(
  layer: LayerNode,
  style: CompiledStyle,
  options: Pick<DatasourceOptions, "language" | "mainLanguage">,
): Read {
  const columns = new Map(layer.columns.map((column) => [column.code, column]));
  const fields = style.fields.filter((code) => code !== "svc_id");
  const pictureFields = style.pictureFields ?? [];
  const labelFields = style.labelFields ?? [];
  const valueSql = (column: Column | undefined) => fieldSql(column, options);
  const selected = [
    ...fields.map((code) => `, ${valueSql(columns.get(code))} as "${code}"`),
    ...labelFields.map((code) => `, ${labelSql(columns.get(code), options)} as "${labelColumn(code)}"`),
    ...pictureFields.map(
      (code) => `, ${nameOfFileSql(valueSql(columns.get(code)))} as "${safeColumn(code)}"`,
    ),
  ].join("");
  const names = [...fields, ...labelFields.map(labelColumn), ...pictureFields.map(safeColumn)];
  return { columns, names, valueSql, selected };
}

/** The statement for objects of one copy of the world, in all that are seen. */
const inEachCopy = (
  layer: LayerNode,
  { atAntimeridian }: Pick<DatasourceOptions, "atAntimeridian">,
  source: (copy: Copy) => string,
): string =>
  worldCopies(layer, atAntimeridian)
    .map((dx) =>
      source({
        moved: (geometry) => (dx === 0 ? geometry : `st_translate(${geometry}, ${dx}, 0)`),
        box: dx === 0 ? "!bbox!" : `st_translate(!bbox!, ${-dx}, 0)`,
      }),
    )
    .join(" union all ");

interface Copy {
  /** SQL of a geometry where it is drawn. */
  readonly moved: (geometry: string) => string;
  /** SQL of the box to be drawn, where the objects of the copy are. */
  readonly box: string;
}

/**
 * The statement; `!bbox!` and `!pixel_width!` are Mapnik's tokens. Objects have an order that adjacent metatiles share, so that
 * they place labels alike: areas with labels the largest first, for Mapnik gives room to what comes first; all others by id.
 */
function layerQuery(layer: LayerNode, style: CompiledStyle, options: DatasourceOptions): string {
  const read = readBy(layer, style, options);
  if (layer.geometryKind === "Point" && options.zoom <= finestThinnedZoom) {
    const points = pointsQuery(layer, style, options, read);
    if (points) return points;
  }
  return `${objectsQuery(layer, style, options, read)} order by ${isBySize(layer, style) ? "size$ desc nulls last, 1" : "1"}`;
}

/** At all zooms alike, so that what lies above does not change with them. */
const isBySize = (layer: LayerNode, style: CompiledStyle): boolean =>
  layer.geometryKind !== "Point" && layer.geometryKind !== "LineString" && style.labelFields !== undefined;

/** All objects of a box. */
function objectsQuery(
  layer: LayerNode,
  style: CompiledStyle,
  options: DatasourceOptions,
  { names, selected }: Read,
): string {
  const table = layerTable(layer.id);
  const isView = layer.type === "virtual";
  const look =
    layer.smallFeatureLevels && !isView ? smallFeatureLook(style, options.scaleDenominator) : undefined;
  const levels = look?.stroke ? layer.smallFeatureLevels! : layer.generalizationLevels;
  const level = levelOf(levels, options.zoom);
  const source = isView ? layerTable(layer.sourceId ?? layer.id) : table;
  const levelTable = `${source}_z${level}`;
  const isNear = layer.hasVertexChunks && isDrawnPlaceByPlace(style, options.scaleDenominator);
  const isCut = layer.geometryKind !== "Point" && isDrawnAlong(style, options.scaleDenominator);
  const size = (geometry: string): string =>
    isBySize(layer, style) ? `, st_area(box2d(${geometry})::geometry) as size$` : "";
  return inEachCopy(layer, options, ({ moved, box }) => {
    if (level === undefined) {
      const values = `${size("o$.geom_3857")}${selected}`;
      const from = `from ${table} o$ where o$.geom_3857 && ${box}`;
      if (!isNear) {
        const geometry = isCut ? cutSql("o$.geom_3857", box) : "o$.geom_3857";
        return `select o$.svc_id, ${moved(geometry)} as geom$${values} ${from}`;
      }
      const near = `select o$.svc_id, ${moved(nearSql(`${source}_c`, box))} as geom$${values} ${from} offset 0`;
      return `select * from (${near}) near$ where near$.geom$ is not null`;
    }
    // A view has no generalized tables: those of its source are joined with the view's objects.
    const objects = names.length > 0 || isView ? ` join ${table} o$ on o$.svc_id = b$.svc_id` : "";
    const large = `select b$.svc_id, ${moved("b$.geom")} as geom$${size("b$.geom")}${selected} from ${levelTable} b$${objects} where b$.geom && ${box}`;
    if (!look) return large;
    const noSize = isBySize(layer, style) ? ", null::float8 as size$" : "";
    const values = noSize + names.map((name) => `, null as "${name}"`).join("");
    const small = smallFeaturesSql(`${table}_g${level}`, look, {
      steps: level - options.zoom,
      pixel: (2 * mercatorHalf) / 256 / 2 ** level,
      scale: (2 ** level * options.scaleDenominator) / topScaleDenominator,
      bends: layer.lineBends ?? 0,
      box,
    });
    return `${large} union all select g$.svc_id, ${moved("g$.geom$")} as geom$${values} from (${small}) g$`;
  });
}

/** The points that are to be drawn (thinning.ts); undefined = all. */
function pointsQuery(
  layer: LayerNode,
  style: CompiledStyle,
  options: DatasourceOptions,
  read: Read,
): string | undefined {
  const { scaleDenominator, zoom } = options;
  const drawn = drawnThinning(style, read.columns, (column) => `q$."${column.code}"`, scaleDenominator);
  if (!drawn) return undefined;
  const ready = readyThinning(layer, style, options, read);
  if (ready) {
    const order = looksAlike(style, scaleDenominator) ? "" : " order by 1";
    const { level } = ready;
    const from =
      level === undefined
        ? objectsQuery(layer, style, options, read)
        : thinnedQuery(layer, { ...ready, level }, read, options);
    return from + order;
  }
  if (zoom > thinningZoom) return undefined;
  const { names } = read;
  return (
    `with q$ as (${objectsQuery(layer, style, options, read)}) select svc_id, geom$${names.map((name) => `, "${name}"`).join("")} from (` +
    `(select distinct on (px$, py$, kind$) * from (select q$.*, ${drawn.keep} as keep$, ${drawn.kind} as kind$, ` +
    `floor(st_x(q$.geom$) / !pixel_width!) as px$, floor(st_y(q$.geom$) / !pixel_width!) as py$ from q$ ` +
    `where st_geometrytype(q$.geom$) = 'ST_Point') c$ where not keep$ order by px$, py$, kind$, svc_id desc) ` +
    `union all (select q$.*, true, 0, 0, 0 from q$ where st_geometrytype(q$.geom$) <> 'ST_Point' or ${drawn.keep})` +
    `) points$ order by 1`
  );
}

interface ReadyThinning {
  readonly number: number;
  /** Level of the table for the zoom; undefined = few points share a pixel there. */
  readonly level: number | undefined;
  /** Zooms between the table's pixels and those of which one point each is drawn. */
  readonly steps: number;
  readonly spec: ThinningSpec;
}

/** How points were thinned ahead of time for the style's rules at the zoom; undefined = they were not. */
function readyThinning(
  layer: LayerNode,
  style: CompiledStyle,
  options: DatasourceOptions,
  read: Read,
): ReadyThinning | undefined {
  const { zoom } = options;
  // The thinnings of a view's source may hold points that the view leaves out, in the place of others.
  if (!layer.thinnings || layer.thinnings.length === 0 || layer.type === "virtual") return undefined;
  const spec = thinningSpec(style, read.columns, read.valueSql, scaleOf);
  const found = layer.thinnings.find(({ digest }) => digest === spec?.digest);
  if (!spec || !found || found.levels.length === 0 || zoom >= spec.kinds.length) return undefined;
  const coarsest = coarsestZoom(style, spec, options);
  const level = levelOf(found.levels, coarsest);
  // A table that is not much finer is read as it is, but the one of the first zoom has the points of all the world.
  const isRead = level === zoom && zoom > 0;
  return { number: found.number, level, steps: isRead ? 0 : (level ?? coarsest) - coarsest, spec };
}

/**
 * The zoom of whose pixels one point each is enough: under markers of some pixels it makes no difference that can be seen
 * whether points are thinned by one pixel or by two.
 */
function coarsestZoom(
  style: CompiledStyle,
  { kinds, keeps }: ThinningSpec,
  options: DatasourceOptions,
): number {
  const { zoom } = options;
  const coarser = zoom - 1;
  // What tells points apart has to do so in the table of that zoom.
  const isSame = zoom === 0 || (kinds[coarser] === kinds[zoom] && keeps[coarser] === keeps[zoom]);
  return isSame && areWide(style, options.scaleDenominator) ? coarser : zoom;
}

/** Points of such a table. Values that rules ask for are those of a sample that matches the same rules. */
function thinnedQuery(
  layer: LayerNode,
  { number, level, steps, spec }: ReadyThinning & { readonly level: number },
  { names, selected }: Read,
  options: DatasourceOptions,
): string {
  const table = layerTable(layer.id);
  const levelTable = `${table}_p${number}_z${level}`;
  const from = (box: string, condition: string): string => {
    const where = `${levelTable} b$ where b$.geom && ${box}${condition}`;
    if (steps === 0) return `(select * from ${where}) b$`;
    const pixel = `b$.x >> ${steps}, b$.y >> ${steps}, b$.class`;
    return `(select distinct on (${pixel}) * from ${where} order by ${pixel}, b$.svc_id desc) b$`;
  };
  if (names.length === 0 || spec.columns.length === 0) {
    const values = names.map((name) => `, null::text as "${name}"`).join("");
    return inEachCopy(
      layer,
      options,
      ({ moved, box }) => `select b$.svc_id, ${moved("b$.geom")} as geom$${values} from ${from(box, "")}`,
    );
  }
  return (
    `with k$ as materialized (select s$.bits as bits$, r$.* from mapwright.thinned_class s$, ` +
    `jsonb_populate_record(null::${table}, s$.sample) r$ where s$.layer_id = ${layer.id} and s$.number = ${number}) ` +
    inEachCopy(layer, options, ({ moved, box }) => {
      const geometry = `select b$.svc_id, ${moved("b$.geom")} as geom$${selected} from`;
      return (
        `${geometry} ${from(box, " and b$.class >= 0")} join k$ o$ on o$.bits$ = b$.bits union all ` +
        `${geometry} ${from(box, " and b$.class < 0")} join ${table} o$ on o$.svc_id = b$.svc_id`
      );
    })
  );
}

const scaleOf = (zoom: number): number => topScaleDenominator / 2 ** zoom;

/**
 * The rules that the points of a layer should be thinned by ahead of time, while they are not. Where a value is localised, the
 * main language's counts.
 * @returns undefined = its style does not ask for it, or it is done
 */
export function missingThinning(
  layer: LayerNode,
  style: CompiledStyle,
  mainLanguage: string,
): ThinningSpec | undefined {
  const isThinned = layer.thinnings && layer.thinnings.length > 0;
  if (!isThinned || layer.geometryKind !== "Point" || layer.type === "virtual" || style.query)
    return undefined;
  const read = readBy(layer, style, { language: mainLanguage, mainLanguage });
  const spec = thinningSpec(style, read.columns, read.valueSql, scaleOf);
  return spec && !layer.thinnings.some(({ digest }) => digest === spec.digest) ? spec : undefined;
}

/** SQL of a value of the object `o$`, as rules see it. */
export function fieldSql(
  column: Column | undefined,
  options: Pick<DatasourceOptions, "language" | "mainLanguage">,
): string {
  if (!column || !hasValues(column)) return "null::text";
  const name = `o$.${column.physical}`;
  if (column.localizedValue) {
    const languages = { own: options.language, main: options.mainLanguage };
    const value = readableSql(column, name, languages, textLiteral);
    return isText(column) ? value : `${value} #>> '{}'`;
  }
  return definitionOf(column).styleValue(name);
}

/** The same as a label shows it. */
function labelSql(
  column: Column | undefined,
  options: Pick<DatasourceOptions, "language" | "mainLanguage">,
): string {
  const own =
    column && hasValues(column) && !column.localizedValue ? definitionOf(column).labelText : undefined;
  return own ? own(`o$.${column!.physical}`) : shownText(`(${fieldSql(column, options)})::text`);
}

/** A value that Mapnik makes a part of a file's name: null unless nothing in it can lead elsewhere. */
const nameOfFileSql = (sql: string): string =>
  `case when (${sql})::text ~ '^${columnValuePattern}$' then (${sql})::text end`;
