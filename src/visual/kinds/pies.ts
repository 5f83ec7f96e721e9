import { sizedBy, sizeItems } from "../chart-sizes.js";
import { areaOfPart, drawCharts, valuesOfCharts } from "../chart-sql.js";
import { chart, sizeQuestion } from "../charts.js";
import type { VisualKind } from "../kind.js";

/** Pie chart on each object: the shares of some columns. */

export const pies: VisualKind = {
  ...chart,
  question: sizeQuestion,
  sizedBy,
  sizes: sizeItems,
  draw: (visualization) => {
    const { classes } = visualization;
    return drawCharts(visualization, {
      sql: classes.showScale ? `${ring} union all ${sectors}` : sectors,
      numbers: classes.showScale === true ? numbers : undefined,
      shares: true,
      rules: areaOfPart(visualization),
    });
  },
};

/** Values of charts, with those before each and their sum. */
const withTotals =
  "(select *, sum(v$) over w$ - v$ as before$, sum(v$) over (partition by svc_id, geom$) as total$ " +
  `from ${valuesOfCharts} v$ window w$ as (partition by svc_id, geom$ order by n$))`;

/** Sectors clockwise from the top. A single one is a circle, without a line to its centre. */
const sectors = `select svc_id, n$ as part$, st_setsrid(st_makepolygon(st_makeline(
    case when v$ >= total$ then arc$ || arc$[1] else geom$ || arc$ || geom$ end)), 3857) as geom$, size$
  from (select svc_id, n$, v$, total$, st_setsrid(geom$, 0) as geom$, size$, array(
      select st_makepoint(st_x(geom$) + sin(a$) * size$ / 2 * px$, st_y(geom$) + cos(a$) * size$ / 2 * px$)
      from (select greatest(3, ceil(72 * v$ / total$))::int as steps$) t$
      cross join lateral generate_series(0, case when v$ >= total$ then steps$ - 1 else steps$ end) i$
      cross join lateral (select 2 * pi() * (before$ + v$ * i$ / steps$) / total$ as a$) u$) as arc$
    from ${withTotals} s$
    where v$ > 0) r$`;

/** SQL of a point at a turn in radians, clockwise from the top, and a distance in pixels outside of the pie. */
const outside = (turn: string, pixels: number | string): string =>
  `st_makepoint(st_x(geom$) + sin(${turn}) * (size$ / 2 + ${pixels}) * px$, ` +
  `st_y(geom$) + cos(${turn}) * (size$ / 2 + ${pixels}) * px$)`;

/** The scale around a pie: a ring, with a mark at each tenth of the whole. */
const ring = `select svc_id, 0 as part$, st_setsrid(st_collect(
      array(select st_makeline(${outside("k$ * pi() / 5", 2)}, ${outside("k$ * pi() / 5", 5)}) from generate_series(0, 9) k$)
      || st_makeline(array(select ${outside("k$ * pi() / 36", 2)} from generate_series(0, 72) k$))), 3857) as geom$, size$
  from charts$ where exists (select from unnest(v$) e$ where e$ > 0)`;

/** The value of each sector beside its middle, as the ring shows shares only. Long ones are farther out at the sides. */
const numbers = `select svc_id, -2,
    st_setsrid(${outside("turn$", "14 + abs(sin(turn$)) * greatest(0, 3 * length(label$) - 6)")}, 3857), size$, label$
  from ${withTotals} s$
  cross join lateral (select (before$ + v$ / 2) / total$ * 2 * pi() as turn$,
    case when v$ < 1e9 and v$ >= 0.001
      then trim_scale(round(v$::numeric, case when v$ < 1 then 3 when v$ < 100 then 2 else 0 end))::text
      else trim(to_char(v$, '9.99EEEE')) end as label$) l$
  where v$ > 0`;
