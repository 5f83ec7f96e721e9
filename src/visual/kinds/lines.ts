import { sizedBy, squareItems } from "../chart-sizes.js";
import { chartBox, drawCharts, heightSql, scaleSql, valuesOfCharts } from "../chart-sql.js";
import { chart, columnsIn, scaleQuestion } from "../charts.js";
import { borderOf, symbolizer } from "../drawing.js";
import type { VisualKind } from "../kind.js";
import type { Range } from "../values.js";

/** Line chart on each object: the values of some columns, one after the other. */

export const lines: VisualKind = {
  ...chart,
  question: scaleQuestion,
  sizedBy,
  sizes: squareItems,
  draw: (visualization) => {
    const { settings, classes, values } = visualization;
    const border = borderOf(settings);
    const opacity = classes.opacity as number;
    const scale = classes.showScale ? `${scaleSql(0)} union all ` : "";
    return drawCharts(visualization, {
      sql: `${scale}${linesSql(columnsIn(classes).length, values.axis ?? [0, 1])}`,
      shares: false,
      // A line in the colour of the column that it leads to, and a dot on each value.
      rules: (part, color) => [
        {
          filter: `([part$]=${part}) and ([mapnik::geometry_type]=2)`,
          symbolizers: [
            symbolizer("LineSymbolizer", {
              stroke: color,
              "stroke-width": 2,
              "stroke-opacity": opacity,
              "stroke-linecap": "round",
            }),
          ],
        },
        {
          filter: `([part$]=${part}) and ([mapnik::geometry_type]=1)`,
          symbolizers: [
            symbolizer("MarkersSymbolizer", {
              width: 6,
              height: 6,
              fill: color,
              "fill-opacity": opacity,
              stroke: border?.stroke,
              "stroke-width": border?.["stroke-width"] ?? 0,
              "stroke-opacity": border?.["stroke-opacity"],
              "allow-overlap": true,
              "ignore-placement": true,
            }),
          ],
        },
      ],
    });
  },
};

/** Lines first, dots over them. */
function linesSql(count: number, axis: Range): string {
  const x = count > 1 ? `(q$.n$ - 1)::float8 / ${count - 1}` : "0.5";
  return (
    "select svc_id, n$ as part$, unnest(array[st_makeline(last$, at$), at$]) as geom$, size$ from (" +
    "select *, lag(at$) over (partition by svc_id, geom$ order by n$) as last$ from (" +
    "select q$.svc_id, q$.geom$, q$.n$, q$.size$, case when q$.v$ is not null then " +
    `st_setsrid(st_makepoint(left$ + ${x} * side$, bottom$ + ${heightSql("q$.v$", axis)} * side$), 3857) end as at$ ` +
    `from ${valuesOfCharts} q$ ${chartBox}) p$) l$ where at$ is not null`
  );
}
