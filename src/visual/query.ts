import { layerTable } from "../catalog/layer-table.js";
import type { LayerNode } from "../catalog/state.js";
import { worldCopies } from "../geo/world-copies.js";
import { textLiteral } from "../style/filter-sql.js";
import type { Settings } from "./columns.js";
import type { VisualDrawing } from "./drawing.js";
import { labelColumn, scales } from "./labels.js";
import { labelText, type ValueContext } from "./value-sql.js";

/** The statement that gives Mapnik what a visualization draws; `!bbox!`, `!pixel_width!`, `!scale_denominator!` are Mapnik's tokens. */

export interface QueryOptions {
  readonly language: string;
  readonly mainLanguage: string;
  /** Zoom of 256-pixel tiles of the same resolution. */
  readonly zoom: number;
  /** Scale denominator by which Mapnik selects rules. */
  readonly scaleDenominator: number;
  /** Whether what is drawn may reach beyond ±180°. */
  readonly atAntimeridian: boolean;
}

/** Up to this zoom points that fall on one pixel are thinned. */
const thinningZoom = 9;

export function drawingQuery(layer: LayerNode, drawing: VisualDrawing, options: QueryOptions): string {
  // Classes and sizes are those of the legend, which knows the main language only; labels are for the reader.
  const main = { own: options.mainLanguage, main: options.mainLanguage };
  const context: ValueContext = { languages: main, bind: textLiteral, table: "o$" };
  const label = labelColumn(layer, layer.visualSettings as Settings);
  const columns: Record<string, string> = { ...drawing.columns(context) };
  const { maxScaleDenominator: labelScale = Number.POSITIVE_INFINITY } = scales(
    layer.visualSettings as Settings,
  );
  if (label) {
    const languages = { own: options.language, main: options.mainLanguage };
    const text = labelText(label, { ...context, languages });
    // One statement may be for several zooms. Long texts are not read where nothing shows them.
    columns.label$ =
      labelScale === Number.POSITIVE_INFINITY
        ? text
        : `case when !scale_denominator! < ${labelScale} then ${text} end`;
  }
  const objects = objectsDrawn(layer, drawing, options, columns);
  // What is drawn first has the room for its label.
  const bySize =
    label &&
    layer.geometryKind !== "Point" &&
    layer.geometryKind !== "LineString" &&
    drawing.place === "object";
  const order = drawing.order ?? (bySize ? "st_area(box2d(geom$)::geometry) desc, svc_id" : "svc_id");
  if (drawing.shapes) return `with objects$ as (${objects}) ${drawing.shapes("objects$")} order by ${order}`;
  const thinned =
    drawing.thinnedBy !== undefined &&
    !(label && options.scaleDenominator < labelScale) &&
    layer.geometryKind === "Point" &&
    options.zoom <= thinningZoom;
  if (!thinned) return `${objects} order by ${order}`;
  const names = Object.keys(columns);
  return (
    `select svc_id, geom$${names.map((name) => `, ${name}`).join("")} from (` +
    `select distinct on (floor(st_x(point$) / !pixel_width!), floor(st_y(point$) / !pixel_width!), ${drawing.thinnedBy}, many$) * ` +
    `from (select *, st_centroid(geom$) as point$, case when st_geometrytype(geom$) <> 'ST_Point' then svc_id end as many$ ` +
    `from (${objects}) all$) each$ order by floor(st_x(point$) / !pixel_width!), floor(st_y(point$) / !pixel_width!), ` +
    `${drawing.thinnedBy}, many$, svc_id) thinned$ order by ${order}`
  );
}

/** Where shapes stand for several objects: the statement that gives these, too. */
export function shapesQuery(
  layer: LayerNode,
  { shapesWithObjects, ...drawing }: VisualDrawing,
): ((options: Pick<QueryOptions, "zoom" | "atAntimeridian">) => string) | undefined {
  return (
    shapesWithObjects &&
    ((options) =>
      `with objects$ as (${objectsDrawn(layer, drawing, options)}) ${shapesWithObjects("objects$")}`)
  );
}

/** SQL of the objects in a box: `svc_id`, `geom$`, and further columns. */
function objectsDrawn(
  layer: LayerNode,
  drawing: VisualDrawing,
  options: Pick<QueryOptions, "zoom" | "atAntimeridian">,
  columns: Readonly<Record<string, string>> = {},
): string {
  const selected = Object.entries(columns).map(([name, sql]) => `, ${sql} as ${name}`);
  const { geometry, from, box } = source(layer, drawing.place, options.zoom);
  const copy = (dx: number): string =>
    dx === 0
      ? `select o$.svc_id, ${geometry} as geom$${selected.join("")} from ${from} where ${box} && !bbox!`
      : `select o$.svc_id, st_translate(${geometry}, ${dx}, 0)${selected.join("")} from ${from} ` +
        `where ${box} && st_translate(!bbox!, ${-dx}, 0)`;
  const needed = drawing.needed.map((name) => `${name} is not null`);
  return (
    `select * from (${worldCopies(layer, options.atAntimeridian).map(copy).join(" union all ")}) ` +
    `read$ where ${["geom$ is not null", ...needed].join(" and ")}`
  );
}

interface Source {
  /** SQL of what is drawn of an object. */
  readonly geometry: string;
  readonly from: string;
  /** SQL of the geometry whose index finds the objects of a box. */
  readonly box: string;
}

function source(layer: LayerNode, place: VisualDrawing["place"], zoom: number): Source {
  const table = layerTable(layer.id);
  const level = layer.generalizationLevels.find((each) => zoom <= each);
  const levelTable = `${layer.type === "virtual" ? layerTable(layer.sourceId ?? layer.id) : table}_z${level}`;
  if (place === "object") {
    return level === undefined
      ? { geometry: "o$.geom_3857", from: `${table} o$`, box: "o$.geom_3857" }
      : {
          geometry: "b$.geom",
          from: `${levelTable} b$ join ${table} o$ on o$.svc_id = b$.svc_id`,
          box: "b$.geom",
        };
  }
  const pointOn = (geometry: string) =>
    `case st_geometrytype(${geometry}) when 'ST_Point' then ${geometry} when 'ST_Polygon' then st_pointonsurface(${geometry}) ` +
    `else st_pointonsurface(mapwright.without_empty_parts(${geometry})) end`;
  if (level === undefined)
    return { geometry: pointOn("o$.geom_3857"), from: `${table} o$`, box: "o$.geom_3857" };
  // Objects that are too small for the level have their symbol all the same, in the middle of their box.
  const geometry = `case when b$.svc_id is null then st_centroid(st_envelope(o$.geom_3857)) else ${pointOn("b$.geom")} end`;
  return {
    geometry,
    from: `${table} o$ left join ${levelTable} b$ on b$.svc_id = o$.svc_id`,
    box: "o$.geom_3857",
  };
}
