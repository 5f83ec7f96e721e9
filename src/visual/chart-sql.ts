import type { LayerNode } from "../catalog/state.js";
import { faceFor } from "../style/fonts.js";
import type { Rule } from "../style/model.js";
import { columnsIn, sizeOf } from "./charts.js";
import { columnOf, type Settings } from "./columns.js";
import {
  borderOf,
  bounded,
  evenWidth,
  labelColumn,
  labels,
  pixelMetres,
  styleOf,
  symbolizer,
  type VisualDrawing,
} from "./drawing.js";
import type { ValuedVisualization } from "./kind.js";
import { quantity, type ValueContext } from "./value-sql.js";
import type { Range } from "./values.js";

/**
 * Charts as shapes that SQL computes in the pixels of a tile: from objects with a point `geom$`, a size `size$` and values
 * `v$`, to rows with `part$`: 0 = behind the chart, 1 to n = the columns, -1 = the label. An object can have a chart in each
 * copy of the world, so that a chart is known by its id and its point.
 */

export interface ChartShapes {
  /** SQL of rows `svc_id, part$, geom$, size$`, from the relation `charts$`: objects with their `px$`, metres in a pixel. */
  readonly sql: string;
  /** Whether the values are at least 0, none counting as 0. */
  readonly shares: boolean;
  /** The rules of the column of this number, from 1. */
  readonly rules: (part: number, color: string) => readonly Rule[];
  /** SQL of rows `svc_id, part$, geom$, size$, label$` with part -2: values that are written beside the charts. */
  readonly numbers?: string | undefined;
}

export function drawCharts(chart: ValuedVisualization, shapes: ChartShapes): VisualDrawing {
  const { layer, settings, classes, values } = chart;
  const most = Math.max(1, ...sizesOf(classes));
  const border = borderOf(settings);
  const parts = columnsIn(classes).flatMap(({ color }, at) => shapes.rules(at + 1, color as string));
  const fontSize = Number((settings.textSettings as Settings).fontSize);
  const labelled = labelColumn(layer, settings) !== undefined;
  const { numbers } = shapes;
  const none = labelled || numbers ? ", null::text as label$" : "";
  return {
    styles: [
      styleOf("charts", [...panel, ...parts]),
      ...(numbers ? [styleOf("numbers", [numberRule(classes.allowOverlap === true)])] : []),
    ],
    labels: labels(settings, layer, { filter: "[part$]=-1", dy: `[size$]/2+${fontSize / 2 + 3}` }),
    place: "point",
    columns: (context) => ({
      size$: sizeSql(chart, context, values.range),
      v$: `array[${columnsIn(classes)
        .map(({ id }) => valueSql(layer, id, context))
        .map((sql) => (shapes.shares ? `greatest(coalesce(${sql},0),0)` : sql))
        .join(",")}]::float8[]`,
    }),
    needed: ["size$"],
    // Of one part, the panel is below its line, and a line below its points, on each tile.
    order: "size$ desc, svc_id, part$, st_dimension(geom$) desc",
    shapes: (objects) =>
      `, placed$ as (select *, ${pixelMetres} as px$ from ${objects}), ${
        classes.allowOverlap ? onePerPixel : apart(most)
      } select * from (select s$.*${none} from (${shapes.sql}) s$${
        labelled ? ` union all select svc_id, -1, geom$, size$, label$ from charts$` : ""
      }${numbers ? ` union all ${numbers}` : ""}) parts$`,
    reach:
      (classes.allowOverlap ? most : 3.5 * most) +
      Number(border?.["stroke-width"] ?? 0) +
      (numbers ? numbersReach : 0) +
      2,
  };
}

/** How far the numbers beside a chart reach: `1.23e+05` in their size. */
const numbersReach = 60;

const numberRule = (mayOverlap: boolean): Rule => ({
  filter: "[part$]=-2",
  symbolizers: [
    {
      ...symbolizer("TextSymbolizer", {
        "face-name": faceFor([]),
        size: 10,
        fill: "#333333",
        "halo-fill": "#ffffff",
        "halo-radius": 1,
        placement: "point",
        "allow-overlap": mayOverlap,
      }),
      text: "[label$]",
    },
  ],
});

const panel: readonly Rule[] = [
  {
    filter: "([part$]=0) and ([mapnik::geometry_type]=3)",
    symbolizers: [
      symbolizer("PolygonSymbolizer", { fill: "#ffffff", "fill-opacity": 0.8 }),
      symbolizer("LineSymbolizer", { stroke: "#8c96a0", "stroke-width": 0.5 }),
    ],
  },
  {
    filter: "([part$]=0) and ([mapnik::geometry_type]=2)",
    symbolizers: [symbolizer("LineSymbolizer", { stroke: "#4d5761", "stroke-width": 1 })],
  },
];

/** Sizes between which the charts are, in pixels. */
function sizesOf({ sizeType, sizeValue, sizeFrom, sizeTo }: Settings): [number, number] {
  const least = bounded(sizeType === sizeOf.fixed ? sizeValue : sizeFrom);
  return [least, sizeType === sizeOf.fixed ? least : bounded(sizeTo)];
}

const valueSql = (layer: LayerNode, id: unknown, context: ValueContext): string => {
  const column = columnOf(layer, id);
  return (column && quantity(column, context)) ?? "null::float8";
};

/** SQL of the size in pixels: its square grows evenly over the range of all objects of the layer. */
function sizeSql(
  { layer, classes }: ValuedVisualization,
  context: ValueContext,
  range: Range | null,
): string {
  const [least, most] = sizesOf(classes);
  if (classes.sizeType === sizeOf.fixed) return `${least}::float8`;
  if (!range) return "null::float8";
  const measures = columnsIn(classes).map(({ id }) => valueSql(layer, id, context));
  const value =
    classes.sizeType === sizeOf.sum
      ? `case when num_nonnulls(${measures.join(",")}) > 0 then ${measures.map((sql) => `coalesce(${sql},0)`).join("+")} end`
      : valueSql(layer, classes.sizeColumn, context);
  const [from, to] = range;
  if (from === to) return `case when (${value}) is not null then ${most}::float8 end`;
  const part = `((${value}) - ${from}::float8) / (${to}::float8 - ${from}::float8)`;
  return (
    `case when (${value}) is not null then ` +
    `sqrt(${least ** 2} + ${most ** 2 - least ** 2} * least(1, greatest(0, ${part}))) end`
  );
}

/** Charts may overlap, but not hide each other wholly. */
const onePerPixel = `charts$ as (
  select distinct on (floor(st_x(geom$) / px$), floor(st_y(geom$) / px$)) * from placed$
  order by floor(st_x(geom$) / px$), floor(st_y(geom$) / px$), size$ desc, svc_id)`;

/**
 * Charts that do not overlap: the largest of each square of a grid, unless a larger one of a square beside it is in its way.
 * What is far away decides nothing, so neighbouring tiles agree.
 * @param most size of the largest in pixels
 */
const apart = (most: number): string => `squares$ as (
  select *, floor(st_x(geom$) / (${evenWidth(`px$ * ${most}`)}))::int as x$, floor(st_y(geom$) / px$ / ${most})::int as y$ from placed$
), winners$ as (
  select distinct on (x$, y$) * from squares$ order by x$, y$, size$ desc, svc_id
), charts$ as (
  select * from winners$ where (x$, y$) not in (
    select a$.x$, a$.y$ from winners$ a$ cross join generate_series(-1, 1) dx$ cross join generate_series(-1, 1) dy$
    join winners$ b$ on b$.x$ = a$.x$ + dx$ and b$.y$ = a$.y$ + dy$
    where abs(st_x(a$.geom$) - st_x(b$.geom$)) < (a$.size$ + b$.size$) / 2 * a$.px$
      and abs(st_y(a$.geom$) - st_y(b$.geom$)) < (a$.size$ + b$.size$) / 2 * a$.px$
      and (b$.size$, hashint8(b$.svc_id), b$.svc_id) > (a$.size$, hashint8(a$.svc_id), a$.svc_id)))`;

/** Rows `svc_id, geom$, size$, px$, n$, v$`: one for each value of each chart. */
export const valuesOfCharts =
  "(select c$.svc_id, c$.geom$, c$.size$, c$.px$, e$.n$, e$.v$ from charts$ c$ " +
  "cross join lateral unnest(c$.v$) with ordinality e$(v$, n$))";

/** A chart's box: half its side in metres, and its lower left corner. */
export const chartBox =
  "cross join lateral (select q$.size$ * q$.px$ as side$) d$ cross join lateral (select st_x(q$.geom$) - side$ / 2 as left$, " +
  "st_y(q$.geom$) - side$ / 2 as bottom$) b$";

/** Rows behind charts with an axis: a panel, and a line at a height, as part of the side. */
export const scaleSql = (height: number): string =>
  `select q$.svc_id, 0 as part$, st_makeenvelope(left$, bottom$, left$ + side$, bottom$ + side$, 3857) as geom$, q$.size$ ` +
  `from charts$ q$ ${chartBox} union all ` +
  `select q$.svc_id, 0, st_setsrid(st_makeline(st_makepoint(left$, bottom$ + ${height} * side$), ` +
  `st_makepoint(left$ + side$, bottom$ + ${height} * side$)), 3857), q$.size$ from charts$ q$ ${chartBox}`;

/** SQL of a value's height as part of the side. */
export const heightSql = (value: string, [least, most]: Range): string =>
  most > least
    ? `least(1, greatest(0, (${value} - ${least}::float8) / (${most}::float8 - ${least}::float8)))`
    : "0.5::float8";
