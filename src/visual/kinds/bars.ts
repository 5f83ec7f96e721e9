import { sizedBy, squareItems } from "../chart-sizes.js";
import { areaOfPart, chartBox, drawCharts, heightSql, scaleSql, valuesOfCharts } from "../chart-sql.js";
import { chart, columnsIn, labelled, scaleQuestion } from "../charts.js";
import type { VisualKind } from "../kind.js";
import type { Range } from "../values.js";

/** Bar chart on each object: a bar for each of some columns. */

export const bars: VisualKind = {
  ...chart,
  titled: labelled,
  question: scaleQuestion,
  sizedBy,
  sizes: squareItems,
  draw: (visualization) => {
    const { classes, values } = visualization;
    const [least, most] = values.axis ?? [0, 1];
    // Bars begin at 0, above or below which they rise.
    const axis: Range = [Math.min(0, least), Math.max(0, most)];
    return drawCharts(visualization, {
      sql: `${classes.showScale ? `${scaleSql(heightOfZero(axis))} union all ` : ""}${barsSql(columnsIn(classes).length, axis)}`,
      shares: false,
      rules: areaOfPart(visualization),
    });
  },
};

const heightOfZero = ([least, most]: Range): number => (most > least ? -least / (most - least) : 0.5);

const barsSql = (count: number, axis: Range): string =>
  `select q$.svc_id, q$.n$ as part$, st_makeenvelope(left$ + (q$.n$ - 0.92) * side$ / ${count}, ` +
  `bottom$ + least(h$, ${heightOfZero(axis)}) * side$, left$ + (q$.n$ - 0.08) * side$ / ${count}, ` +
  `bottom$ + greatest(h$, ${heightOfZero(axis)}) * side$, 3857) as geom$, q$.size$ ` +
  `from ${valuesOfCharts} q$ ${chartBox} cross join lateral (select ${heightSql("q$.v$", axis)} as h$) y$ ` +
  "where q$.v$ <> 0";
