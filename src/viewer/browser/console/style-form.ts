import { defaultStyle } from "../../../style/default-style.js";
import { type Declaration, type Replacement, type Rule, replaced, rulesOf } from "./carto-rules.js";

/**
 * What can be set of a style without writing CartoCSS: that of a style as new layers have it. A change replaces values in the text, so
 * that all that the form does not show stays as it was written. Does not depend on the DOM.
 */

export type SymbolKind = "point" | "line" | "polygon";

/** Absent = the style does not say it in a way that the form could show. */
export interface SymbolForm {
  readonly kind: SymbolKind;
  /** #rrggbb */
  readonly fill?: string;
  readonly stroke?: string;
  /** Of the line or outline, in pixels. */
  readonly width?: number;
  /** Of points, in pixels. */
  readonly size?: number;
  /** From 0 to 1. */
  readonly opacity?: number;
}
export type SymbolField = Exclude<keyof SymbolForm, "kind">;

export interface StyleForm {
  readonly symbols: readonly SymbolForm[];
  /** Code of the column whose values are written; null = none; undefined = an expression. */
  readonly label: string | null | undefined;
  readonly minZoom: number | undefined;
  readonly maxZoom: number | undefined;
}

/** A rule without filters by columns. */
interface Block {
  readonly kind: SymbolKind;
  readonly rule: Rule;
  /** For lower zooms. */
  readonly smaller: readonly Rule[];
}
interface Read {
  /** The rule of the symbols. */
  readonly symbol: Rule;
  readonly blocks: readonly Block[];
  readonly labels: readonly Rule[];
}

const properties: Readonly<Record<SymbolKind, Partial<Readonly<Record<SymbolField, string>>>>> = {
  point: {
    ...{ fill: "marker-fill", stroke: "marker-line-color", width: "marker-line-width" },
    ...{ size: "marker-width", opacity: "marker-opacity" },
  },
  line: { stroke: "line-color", width: "line-width", opacity: "line-opacity" },
  polygon: { fill: "polygon-fill", stroke: "line-color", width: "line-width", opacity: "polygon-opacity" },
};
const kinds = { point: "Point", line: "LineString", polygon: "Polygon" } as const;

const zoomFilter = "\\[\\s*zoom\\s*[<>]=?\\s*\\d+\\s*\\]";
const isSymbols = new RegExp(`^#[\\w\\u0080-\\uffff-]+(?:${zoomFilter})*$`);
const isLabels = /^#[\w\u0080-\uffff-]+::[\w-]+(?:\[[^\]]*\])*$/;
const isZoomFilter = new RegExp(`^(?:${zoomFilter})+$`);
const isGeometryType = /^\[\s*(['"])mapnik::geometry_type\1\s*=\s*[123]\s*\]$/;
const isSize = /^(?:marker-(?:width|height|line-width|ignore-placement|allow-overlap)|line-width)$/;
const hex = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;
/** With six digits, as controls of the page want them. */
const sixDigits = (colour: string): string =>
  (colour.length > 4 ? colour : colour.replace(/[0-9a-f]/gi, "$&$&")).toLowerCase();

/** All that a rule of the kind may say: with labels or patterns beside them the form would show half of it. */
const own: Readonly<Record<SymbolKind, RegExp>> = {
  point: /^marker-/,
  line: /^line-(?!pattern-)/,
  polygon: /^(?:polygon|line)-(?!pattern-)/,
};
const has = (rule: Rule, start: string): boolean =>
  rule.declarations.some(({ name }) => name.startsWith(start));

function blockOf(rule: Rule): Block | undefined {
  const isSmaller = ({ selector, declarations, rules }: Rule) =>
    isZoomFilter.test(selector) && rules.length === 0 && declarations.every(({ name }) => isSize.test(name));
  if (!rule.rules.every(isSmaller)) return undefined;
  const kind = has(rule, "marker-")
    ? "point"
    : has(rule, "polygon-")
      ? "polygon"
      : has(rule, "line-")
        ? "line"
        : undefined;
  if (kind === undefined || !rule.declarations.every(({ name }) => own[kind].test(name))) return undefined;
  return { kind, rule, smaller: rule.rules };
}

function read(css: string): Read | undefined {
  const rules = rulesOf(css);
  if (!rules) return undefined;
  const [symbol, ...more] = rules.filter(({ selector }) => isSymbols.test(selector));
  const labels = rules.filter(({ selector }) => isLabels.test(selector));
  const isLabel = (rule: Rule): boolean =>
    rule.declarations.every(({ name }) => name.startsWith("text-")) && rule.rules.every(isLabel);
  if (!symbol || more.length > 0 || labels.length + 1 < rules.length || !labels.every(isLabel))
    return undefined;
  const byType = symbol.rules.filter(({ selector }) => isGeometryType.test(selector));
  if (byType.length > 0 && (byType.length < symbol.rules.length || symbol.declarations.length > 0))
    return undefined;
  const blocks = (byType.length > 0 ? byType : [symbol]).map(blockOf);
  if (!blocks.every((block) => block !== undefined)) return undefined;
  // Two of a kind, such as markers on lines, could not be told apart.
  return new Set(blocks.map(({ kind }) => kind)).size === blocks.length
    ? { symbol, blocks, labels }
    : undefined;
}

const declared = (rule: Rule, name: string): Declaration | undefined =>
  rule.declarations.findLast((one) => one.name === name);

/** Of labels: all of the column that they write. */
const namesIn = (rule: Rule): Declaration[] => [
  ...rule.declarations.filter(({ name }) => name === "text-name"),
  ...rule.rules.flatMap(namesIn),
];

/** The form of a style; undefined when it is more than the form shows. */
export function readForm(css: string): StyleForm | undefined {
  const found = read(css);
  if (!found) return undefined;
  const symbols = found.blocks.map(({ kind, rule }): SymbolForm => {
    const values: Partial<Record<SymbolField, string | number>> = {};
    for (const [field, property] of Object.entries(properties[kind]) as [SymbolField, string][]) {
      const value = declared(rule, property)?.value;
      const isColour = field === "fill" || field === "stroke";
      if (value === undefined) {
        if (field === "opacity") values.opacity = 1;
      } else if (isColour ? hex.test(value) : Number.isFinite(Number(value))) {
        values[field] = isColour ? sixDigits(value) : Number(value);
      }
    }
    return { kind, ...values } as SymbolForm;
  });
  const names = new Set(found.labels.flatMap(namesIn).map(({ value }) => value));
  const [name] = names;
  const column = name === undefined ? undefined : /^\[([^[\]]+)\]$/.exec(name)?.[1];
  const { min, max } = zoomsOf(found.symbol.selector);
  return {
    symbols,
    label: found.labels.length === 0 ? null : names.size === 1 ? column : undefined,
    minZoom: min,
    maxZoom: max,
  };
}

function zoomsOf(selector: string): { readonly min: number | undefined; readonly max: number | undefined } {
  let [min, max]: (number | undefined)[] = [undefined, undefined];
  for (const [, sign, zoom] of selector.matchAll(/\[\s*zoom\s*([<>]=?)\s*(\d+)\s*\]/g)) {
    if (sign!.startsWith(">")) min = Math.max(min ?? 0, Number(zoom) + (sign === ">" ? 1 : 0));
    else max = Math.min(max ?? 99, Number(zoom) - (sign === "<" ? 1 : 0));
  }
  return { min, max };
}

const rounded = (value: number): string => String(Number(value.toFixed(2)));

/** The style with another value of a symbol. Sizes at lower zooms keep their proportion to it. @throws Error without a form */
export function withSymbol(
  css: string,
  kind: SymbolKind,
  field: SymbolField,
  value: string | number,
): string {
  const property = properties[kind][field];
  const block = read(css)?.blocks.find((one) => one.kind === kind);
  if (!block || property === undefined) throw new Error("the style has no such symbol");
  const text = typeof value === "number" ? rounded(value) : value;
  const own = declared(block.rule, property);
  if (!own) {
    const { start } = block.rule.body;
    const lead = /^\r?\n\s*/.exec(css.slice(start))?.[0] ?? " ";
    return replaced(css, [{ start, end: start, by: `${lead}${property}: ${text};` }]);
  }
  const old = Number(own.value);
  if (typeof value !== "number" || field === "opacity" || !Number.isFinite(old))
    return replaced(css, [{ ...own.at, by: text }]);
  const proportional = ({ name }: Declaration) =>
    name === property || (field === "size" && name === "marker-height");
  const others: Replacement[] = [block.rule, ...block.smaller]
    .flatMap(({ declarations }) => declarations)
    .filter((one) => one !== own && proportional(one) && Number.isFinite(Number(one.value)))
    // Of nothing there is no proportion.
    .map((one) => ({ ...one.at, by: old === 0 ? text : rounded((Number(one.value) * value) / old) }));
  return replaced(css, [{ ...own.at, by: text }, ...others]);
}

/** The labels of a style, as text, without the zooms of the symbols; "" = it has none or no form. */
export function labelsOf(css: string): string {
  if (!read(css)) return "";
  const plain = withZooms(css, undefined, undefined);
  return (read(plain)?.labels ?? []).map(({ at, body }) => `${plain.slice(at.start, body.end)}}\n`).join("");
}

/**
 * The style with labels of a column; null = without labels.
 * @param known labels as the style had them, by `labelsOf`, to be those of a style without; "" = as new layers have them
 * @throws Error without a form
 */
export function withLabel(css: string, column: string | null, known = ""): string {
  const found = read(css);
  if (!found) throw new Error("the style has no form");
  const { labels, blocks } = found;
  if (column === null) {
    const gone = labels.map(({ at, body }) => {
      const end = body.end + 1;
      return {
        start: at.start,
        end: end + (/^\r?\n/.exec(css.slice(end, end + 2))?.[0].length ?? 0),
        by: "",
      };
    });
    return replaced(css, gone);
  }
  if (labels.length > 0)
    return replaced(
      css,
      labels.flatMap(namesIn).map(({ at }) => ({ ...at, by: `[${column}]` })),
    );
  const kind = blocks.length === 1 ? kinds[blocks[0]!.kind] : "Unknown";
  const whole = defaultStyle(kind, { label: { column, fromZoom: 0 } });
  const rules = known || whole.slice(whole.indexOf("#layer::names"));
  const { min, max } = zoomsOf(found.symbol.selector);
  // Without those of the symbols, which come before.
  const added = `${css.trimEnd()}\n${rules}`;
  const limited = min === undefined && max === undefined ? added : withZooms(added, min, max);
  return known ? withLabel(limited, column) : limited;
}

/** The filters by which the layer is seen at some zooms only: they come first, those of labels themselves follow. */
const limitsText = (min: number | undefined, max: number | undefined): string =>
  `${min === undefined ? "" : `[zoom>=${min}]`}${max === undefined ? "" : `[zoom<=${max}]`}`;

/** The style of a layer that is seen at some zooms only; undefined = no limit. @throws Error without a form */
export function withZooms(css: string, min: number | undefined, max: number | undefined): string {
  const found = read(css);
  if (!found) throw new Error("the style has no form");
  const limits = limitsText(min, max);
  const name = (selector: string) => selector.slice(0, `${selector}[`.indexOf("["));
  // As it is written, which need not be as it is written here.
  const old = found.symbol.selector.slice(name(found.symbol.selector).length);
  const changed = found.labels.map(({ selector, at }) => {
    const start = at.start + name(selector).length;
    return { start, end: css.startsWith(old, start) ? start + old.length : start, by: limits };
  });
  const { selector, at } = found.symbol;
  return replaced(css, [{ ...at, by: `${name(selector)}${limits}` }, ...changed]);
}
