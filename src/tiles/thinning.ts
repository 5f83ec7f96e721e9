import { createHash } from "node:crypto";
import type { Column } from "../catalog/state.js";
import { filterToSql } from "../style/filter-sql.js";
import type { CompiledStyle, Rule, Symbolizer } from "../style/model.js";

/**
 * Which points are drawn. Where points fall on one pixel and match the same rules, the last one is enough if these rules only
 * draw the same opaque marker: it covers the others. Points under other rules (labels, sizes by value) are all drawn.
 */

/** Highest zoom whose points are thinned ahead of time, in tables of their own (migration 025). */
export const finestThinnedZoom = 12;

/** Rules that are bits of a number in SQL. */
const maxBits = 60;

/** SQL of the value of a column, as rules see it. */
export type ValueSql = (column: Column) => string;

/** SQL over the rows that the values are of. */
export interface DrawnThinning {
  /** Whether the point is drawn in any case. */
  readonly keep: string;
  /** Equal for points that look alike. */
  readonly kind: string;
}

/** Thinning of what is drawn at a scale; undefined = all points have to be drawn, or a rule cannot be written in SQL. */
export function drawnThinning(
  style: CompiledStyle,
  columns: ReadonlyMap<string, Column>,
  valueSql: ValueSql,
  scaleDenominator: number,
): DrawnThinning | undefined {
  const keep: string[] = [];
  const kinds: string[] = [];
  for (const rule of rulesAt(style, scaleDenominator)) {
    const sql = ruleSql(rule, columns, valueSql);
    if (sql === undefined) return undefined;
    if (rule.symbolizers.every(isOpaqueMarker)) {
      if (sql !== "true") kinds.push(`case when ${sql} then ${2 ** kinds.length} else 0 end`);
    } else if (sql === "true") return undefined;
    else keep.push(sql);
  }
  if (kinds.length > 30) return undefined;
  return {
    keep: keep.length > 0 ? `(${keep.join(" or ")})` : "false",
    kind: kinds.length > 0 ? `(${kinds.join(" + ")})` : "0",
  };
}

/** What points are thinned by ahead of time, as the table `thinning` has it. */
export interface ThinningSpec {
  /** Equal for styles that are served by the same tables; `plain`: no rule looks at a column. */
  readonly digest: string;
  /** SQL of the rules that a row `o$` of the layer's table matches, one bit each. */
  readonly bits: string;
  /** Physical names of the columns in it. */
  readonly columns: readonly string[];
  /** For each zoom from 0 on: bits of the rules that draw opaque markers only, and of the others. */
  readonly kinds: readonly bigint[];
  readonly keeps: readonly bigint[];
}

/**
 * What the style's points are thinned by; undefined = its rules do not allow it at any zoom.
 * @param valueSql over the row `o$` of the layer's table
 * @param scaleOf scale denominator of a zoom
 */
export function thinningSpec(
  style: CompiledStyle,
  columns: ReadonlyMap<string, Column>,
  valueSql: ValueSql,
  scaleOf: (zoom: number) => number,
): ThinningSpec | undefined {
  const filters: string[] = [];
  const used = new Set<string>();
  const kinds: bigint[] = [];
  const keeps: bigint[] = [];
  const value: ValueSql = (column) => {
    used.add(column.physical);
    return valueSql(column);
  };
  let kind = 0n;
  let keep = 0n;
  // A level also serves the coarser zooms, and is what their levels are made from: it tells their rules apart too.
  zooms: for (let zoom = 0; zoom <= finestThinnedZoom; zoom++) {
    for (const rule of rulesAt(style, scaleOf(zoom))) {
      const sql = ruleSql(rule, columns, value);
      const isKind = rule.symbolizers.every(isOpaqueMarker);
      if (sql === undefined || (sql === "true" && !isKind)) break zooms;
      if (sql === "true") continue;
      if (!filters.includes(sql)) filters.push(sql);
      if (filters.length > maxBits) break zooms;
      const bit = 1n << BigInt(filters.indexOf(sql));
      if (isKind) kind |= bit;
      else keep |= bit;
    }
    kinds.push(kind);
    keeps.push(keep);
  }
  if (kinds.length === 0) return undefined;
  const known = filters.slice(0, maxBits);
  if (kinds.at(-1) === 0n && keeps.at(-1) === 0n) return plainThinning;
  const bits = known.map((sql, bit) => `case when ${sql} then ${1n << BigInt(bit)}::bigint else 0 end`);
  const spec = { bits: `(${bits.join(" | ")})`, columns: [...used].sort(), kinds, keeps };
  const text = JSON.stringify(spec, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
  return { ...spec, digest: createHash("sha256").update(text).digest("base64url").slice(0, 22) };
}

const none = Array.from({ length: finestThinnedZoom + 1 }, () => 0n);

/** The thinning of styles whose rules look at no column. */
export const plainThinning: ThinningSpec = {
  digest: "plain",
  bits: "0::bigint",
  columns: [],
  kinds: none,
  keeps: none,
};

/** Whether all points look alike at a scale and nothing shows which lies over which, so that their order is of no importance. */
export function looksAlike(style: CompiledStyle, scaleDenominator: number): boolean {
  const [only, ...others] = rulesAt(style, scaleDenominator);
  return (
    only !== undefined &&
    others.length === 0 &&
    only.symbolizers.length === 1 &&
    isOpaqueMarker(only.symbolizers[0]!) &&
    !isStroked(only.symbolizers[0]!)
  );
}

/** Markers of which half is covered by another one's that is a pixel or two away. */
const wideMarker = 6;

/** Whether all opaque markers at a scale are wide enough for points to be thinned by two pixels. */
export const areWide = (style: CompiledStyle, scaleDenominator: number): boolean =>
  rulesAt(style, scaleDenominator).every(
    ({ symbolizers }) => !symbolizers.every(isOpaqueMarker) || symbolizers.every(isWide),
  );

const isWide = ({ attributes: { width, height = width } }: Symbolizer): boolean =>
  Number(width) >= wideMarker && Number(height) >= wideMarker;

/** The rules that apply at a scale. */
export const rulesAt = (style: CompiledStyle, scaleDenominator: number): Rule[] =>
  style.styles.flatMap(({ rules }) => rules.filter((rule) => appliesAt(rule, scaleDenominator)));

export const appliesAt = (rule: Rule, scaleDenominator: number): boolean =>
  scaleDenominator >= (rule.minScaleDenominator ?? 0) - 1e-6 &&
  scaleDenominator < (rule.maxScaleDenominator ?? Number.POSITIVE_INFINITY) + 1e-6;

/** Whether it applies at the scale or at a larger one. */
export const appliesFrom = (rule: Rule, scaleDenominator: number): boolean =>
  scaleDenominator >= (rule.minScaleDenominator ?? 0) - 1e-6;

/** SQL of the rows that a rule is for; undefined = SQL evaluates its filter differently. */
export const ruleSql = (
  { filter }: Rule,
  columns: ReadonlyMap<string, Column>,
  valueSql: ValueSql,
): string | undefined =>
  filter === undefined ? "true" : filterToSql(filter, (code) => sqlColumn(columns.get(code), valueSql));

/** Whether the symbol hides all that is below it, and is the same for each point. */
export function isOpaqueMarker(symbolizer: Symbolizer): boolean {
  const { attributes } = symbolizer;
  if (symbolizer.type === "DotSymbolizer") return attributes["comp-op"] === undefined && isOpaque(attributes);
  if (symbolizer.type !== "MarkersSymbolizer") return false;
  if (attributes["allow-overlap"] !== "true" || attributes["comp-op"] !== undefined) return false;
  if (attributes.file || symbolizer.picture !== undefined) return false;
  const strokeOpaque =
    !isStroked(symbolizer) ||
    attributes["stroke-opacity"] === undefined ||
    Number(attributes["stroke-opacity"]) === 1;
  return strokeOpaque && isOpaque(attributes);
}

export const isOpaque = (attributes: Symbolizer["attributes"]): boolean =>
  ["opacity", "fill-opacity"].every(
    (name) => attributes[name] === undefined || Number(attributes[name]) === 1,
  ) &&
  !Object.values(attributes).some(
    (value) => value.includes("[") || /rgba|hsla|transparent|^#(.{4}|.{8})$/i.test(value),
  );

const isStroked = ({ type, attributes }: Symbolizer): boolean =>
  type === "MarkersSymbolizer" && Number(attributes["stroke-width"] ?? "0.5") > 0;

function sqlColumn(
  column: Column | undefined,
  valueSql: ValueSql,
): { sql: string; type: "number" | "text" | "bool" | "other" } | undefined {
  if (!column) return undefined;
  const sql = valueSql(column);
  if (column.code === "svc_id") return { sql, type: "number" };
  if (column.type === "number" || column.type === "bool")
    return { sql, type: column.localizedValue ? "text" : column.type };
  return { sql, type: "text" };
}
