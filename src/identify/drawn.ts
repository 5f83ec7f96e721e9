import type { LayerNode } from "../catalog/state.js";
import type { Languages } from "../features/column-sql.js";
import type { CompiledStyle, Style } from "../style/model.js";
import { fieldSql, topScaleDenominator } from "../tiles/datasource.js";
import { appliesAt, ruleSql } from "../tiles/thinning.js";

/**
 * SQL that is true for the objects `o$` of a layer which its style draws at a zoom; undefined = it draws none there. What SQL
 * evaluates differently counts as true.
 */
export function drawnSql(
  layer: LayerNode,
  style: CompiledStyle,
  { zoom, languages }: { readonly zoom: number; readonly languages: Languages },
): string | undefined {
  const columns = new Map(layer.columns.map((column) => [column.code, column]));
  const options = { language: languages.own, mainLanguage: languages.main };
  const scaleDenominator = topScaleDenominator / 2 ** zoom;
  const drawn = style.styles.flatMap((one) =>
    drawing(one, scaleDenominator, (rule) => ruleSql(rule, columns, (column) => fieldSql(column, options))),
  );
  if (drawn.length === 0) return undefined;
  return drawn.includes("true") ? "true" : `(${[...new Set(drawn)].join(" or ")})`;
}

/** SQL of the objects that each rule of a style draws. */
function drawing(
  { attributes, rules }: Style,
  scaleDenominator: number,
  sqlOf: (rule: Style["rules"][number]) => string | undefined,
): string[] {
  const isExclusive = attributes["filter-mode"] === "first";
  const drawn: string[] = [];
  /** What rules without symbols take from those after them. */
  const hidden: string[] = [];
  for (const rule of rules.filter((one) => appliesAt(one, scaleDenominator))) {
    const sql = sqlOf(rule);
    if (rule.symbolizers.length > 0) {
      const shown = hidden.map((other) => `not ${other}`);
      drawn.push(shown.length === 0 ? (sql ?? "true") : `(${[sql ?? "true", ...shown].join(" and ")})`);
    } else if (isExclusive && sql !== undefined) hidden.push(sql);
  }
  return drawn;
}
