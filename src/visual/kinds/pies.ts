import { drawCharts, valuesOfCharts } from "../chart-sql.js";
import { chart, sizeQuestion } from "../charts.js";
import { borderOf, symbolizer } from "../drawing.js";
import type { VisualKind } from "../kind.js";

/** Pie chart on each object: the shares of some columns. */

export const pies: VisualKind = {
  ...chart,
  question: sizeQuestion,
  draw: (visualization) => {
    const { settings, classes } = visualization;
    const border = borderOf(settings);
    return drawCharts(visualization, {
      sql: sectors,
      shares: true,
      rules: (part, color) => [
        {
          filter: `[part$]=${part}`,
          symbolizers: [
            symbolizer("PolygonSymbolizer", { fill: color, "fill-opacity": classes.opacity as number }),
            ...(border ? [symbolizer("LineSymbolizer", border)] : []),
          ],
        },
      ],
    });
  },
};

/** Sectors clockwise from the top. A single one is a circle, without a line to its centre. */
const sectors = `select svc_id, n$ as part$, st_setsrid(st_makepolygon(st_makeline(
    case when v$ >= total$ then arc$ || arc$[1] else geom$ || arc$ || geom$ end)), 3857) as geom$, size$
  from (select svc_id, n$, v$, total$, st_setsrid(geom$, 0) as geom$, size$, array(
      select st_makepoint(st_x(geom$) + sin(a$) * size$ / 2 * px$, st_y(geom$) + cos(a$) * size$ / 2 * px$)
      from (select greatest(3, ceil(72 * v$ / total$))::int as steps$) t$
      cross join lateral generate_series(0, case when v$ >= total$ then steps$ - 1 else steps$ end) i$
      cross join lateral (select 2 * pi() * (before$ + v$ * i$ / steps$) / total$ as a$) u$) as arc$
    from (select *, sum(v$) over w$ - v$ as before$, sum(v$) over (partition by svc_id, geom$) as total$
      from ${valuesOfCharts} v$ window w$ as (partition by svc_id, geom$ order by n$)) s$
    where v$ > 0) r$`;
