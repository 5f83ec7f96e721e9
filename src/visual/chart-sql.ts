import { faceFor } from "../style/fonts.js";
import type { Rule } from "../style/model.js";
import { sizeSql, sizesOf, valueSql } from "./chart-sizes.js";
import { columnsIn, dotMarker, hasSmaller } from "./charts.js";
import type { Settings } from "./columns.js";
import { borderOf, evenWidth, pixelMetres, styleOf, symbolizer, type VisualDrawing } from "./drawing.js";
import type { ValuedVisualization } from "./kind.js";
import { labelColumn, labels } from "./labels.js";
import type { Range } from "./values.js";

/**
 * Charts as shapes that SQL computes in the pixels of a tile: from objects with a point `geom$`, a size `size$` and values
 * `v$`, to rows with `part$`: 0 = behind the chart, 1 to n = the columns, -1 = the label, -3 = a dot in place of the
 * chart. An object can have a chart in each copy of the world, so that a chart is known by its id and its point.
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

/** The rules of a column whose part of a chart is an area. */
export function areaOfPart({ settings, classes }: ValuedVisualization): ChartShapes["rules"] {
  const border = borderOf(settings);
  return (part, color) => [
    {
      filter: `[part$]=${part}`,
      symbolizers: [
        symbolizer("PolygonSymbolizer", { fill: color, "fill-opacity": classes.opacity as number }),
        ...(border ? [symbolizer("LineSymbolizer", border)] : []),
      ],
    },
  ];
}

export function drawCharts(chart: ValuedVisualization, shapes: ChartShapes): VisualDrawing {
  const { layer, settings, classes } = chart;
  const most = Math.max(1, ...sizesOf(classes));
  const border = borderOf(settings);
  const parts = columnsIn(classes).flatMap(({ color }, at) => shapes.rules(at + 1, color as string));
  const fontSize = Number((settings.textSettings as Settings).fontSize);
  const labelled = labelColumn(layer, settings) !== undefined;
  const { numbers } = shapes;
  const none = labelled || numbers ? ", null::text as label$" : "";
  const isApart = classes.allowOverlap !== true;
  // A pie of nothing takes no room.
  const isSeen = shapes.shares && !labelled ? " where 0 < any (v$)" : "";
  return {
    styles: [
      styleOf("charts", [...panel, ...parts, { filter: "[part$]=-3", symbolizers: [dotMarker] }]),
      ...(numbers ? [styleOf("numbers", [numberRule(classes.allowOverlap === true)])] : []),
    ],
    labels: labels(settings, layer, { filter: "[part$]=-1", dy: `[size$]/2+${fontSize / 2 + 3}` }),
    place: "point",
    columns: (context) => ({
      size$: sizeSql(chart, context),
      v$: `array[${columnsIn(classes)
        .map(({ id }) => valueSql(layer, id, context))
        .map((sql) => (shapes.shares ? `greatest(coalesce(${sql},0),0)` : sql))
        .join(",")}]::float8[]`,
      extent$:
        "(st_xmax(o$.geom_3857) - st_xmin(o$.geom_3857)) * (st_ymax(o$.geom_3857) - st_ymin(o$.geom_3857))",
    }),
    needed: ["size$"],
    // Of one part, the panel is below its line, and a line below its points, on each tile.
    order: "size$ desc, svc_id, part$, st_dimension(geom$) desc",
    shapes: (objects) =>
      `, placed$ as (select *, ${pixelMetres} as px$ from ${objects}${isSeen}), ${
        isApart ? apart(most, hasSmaller(classes), labelled) : onePerPixel
      } select * from (select s$.*${none} from (${shapes.sql}) s$${
        labelled ? ` union all select svc_id, -1, geom$, size$, label$ from charts$` : ""
      }${numbers ? ` union all ${numbers}` : ""}${isApart ? ` union all select svc_id, -3, geom$, size$${none} from dots$` : ""}) parts$`,
    reach:
      (isApart ? 4.5 * most : most) +
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

/** Charts may overlap, but not hide each other wholly. */
const onePerPixel = `charts$ as (
  select distinct on (floor(st_x(geom$) / px$), floor(st_y(geom$) / px$)) * from placed$
  order by floor(st_x(geom$) / px$), floor(st_y(geom$) / px$), size$ desc, svc_id)`;

/** Smaller charts could not be read. */
const leastChart = 8;
/** Side in pixels of a square in which one dot is enough. */
const dotSquare = 3;
/** More dots where a chart could be would cover it, and are below it. */
const mostOverCharts = 4;
/** In place of the size of what is below all charts. */
const below = 1e9;

/** SQL of the square of a grid that an object is in. @param name tells grids apart */
const square = (pixels: number, name = ""): string =>
  `floor(st_x(geom$) / (${evenWidth(`px$ * ${pixels}`)}))::int as x${name}$, floor(st_y(geom$) / px$ / ${pixels})::int as y${name}$`;

interface GridOptions {
  /** Of the squares that are found. */
  readonly name?: string;
  /** By which those beside them are found; default: the same. */
  readonly grid?: string;
  /** SQL of a further condition. */
  readonly when?: string;
}

/** SQL of the squares whose object `a$` overlaps one `b$` of a square beside it. */
const inTheWay = (
  of: string,
  others: string,
  { name = "", grid = name, when = "true" }: GridOptions = {},
): string =>
  `select a$.x${name}$, a$.y${name}$ from ${of} a$ cross join generate_series(-1, 1) dx$ cross join generate_series(-1, 1) dy$
    join ${others} b$ on b$.x${grid}$ = a$.x${grid}$ + dx$ and b$.y${grid}$ = a$.y${grid}$ + dy$
    where abs(st_x(a$.geom$) - st_x(b$.geom$)) < (a$.size$ + b$.size$) / 2 * a$.px$
      and abs(st_y(a$.geom$) - st_y(b$.geom$)) < (a$.size$ + b$.size$) / 2 * a$.px$ and ${when}`;

/** Of equal charts that of the larger object comes first; of equal objects any, so that no side has more of them. */
const rankOf = (one: string): string =>
  `(${one}.size$, ${one}.extent$, hashint8(${one}.svc_id), ${one}.svc_id)`;
const isBeaten = `${rankOf("b$")} > ${rankOf("a$")}`;

/**
 * Charts that do not overlap: the largest of each square of a grid, unless a larger one of a square beside it is in its way.
 * Of the others the small ones, or if they may be smaller all at half their size, are placed between those likewise, by a
 * finer grid. What is left are dots. What is far away decides nothing, so neighbouring tiles agree.
 * @param most size of the largest in pixels
 */
function apart(most: number, mayBeSmaller: boolean, labelled: boolean): string {
  const chart = `svc_id, geom$, v$, px$, extent$${labelled ? ", label$" : ""}, size$`;
  const half = mayBeSmaller
    ? `${chart} / 2 as size$, x$, y$ from rest$ where size$ >= ${2 * leastChart}`
    : `${chart}, x$, y$ from rest$ where size$ <= ${most / 2}`;
  return `squares$ as (select *, ${square(most)} from placed$), winners$ as (
  select distinct on (x$, y$) * from squares$ order by x$, y$, size$ desc, extent$ desc, svc_id
), large$ as (
  select * from winners$ where (x$, y$) not in (${inTheWay("winners$", "winners$", { when: isBeaten })})
), rest$ as (
  select * from squares$ where (svc_id, geom$) not in (select svc_id, geom$ from large$)
), halves$ as (
  select distinct on (xh$, yh$) * from (select *, ${square(most / 2, "h")} from (select ${half}) half$) each_half$
  order by xh$, yh$, size$ desc, extent$ desc, svc_id
), roomy$ as (
  select * from halves$ where (xh$, yh$) not in (${inTheWay("halves$", "large$", { name: "h", grid: "" })})
), small$ as (
  select * from roomy$ where (xh$, yh$) not in (${inTheWay("roomy$", "roomy$", { name: "h", when: isBeaten })})
), charts$ as (
  select ${chart} from large$ union all select ${chart} from small$
), dots$ as (
  select distinct on (xd$, yd$) svc_id, geom$, size$ from (
    select svc_id, geom$, ${square(dotSquare, "d")},
      case when count(*) over (partition by x$, y$) > ${mostOverCharts} then ${below} else 0 end as size$
    from rest$ where (svc_id, geom$) not in (select svc_id, geom$ from small$)
  ) dot$ order by xd$, yd$, svc_id
)`;
}

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
