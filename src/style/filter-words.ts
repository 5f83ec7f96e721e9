import type { ComparisonOperator, Expression } from "./expression.js";
import { printExpression } from "./expression.js";
import { comparisonOf, type SampleValue } from "./sample.js";

/** Filters in words for the readers of a legend. */

export interface WordsOptions {
  /** A locale that `Intl` knows. */
  readonly locale: string;
  /** The title of a column. */
  readonly titleOf: (code: string) => string;
}

interface Words {
  readonly geometries: readonly string[];
  readonly titleOf: (code: string) => string;
  readonly number: Intl.NumberFormat;
  readonly and: Intl.ListFormat;
  readonly or: Intl.ListFormat;
}

/** Characters of one text; longer filters are cut. */
const maxLength = 300;
/** Operands of a chain that fill such a text, whatever they are. */
const mostOperands = 100;

/** The Mapnik expression of a filter with no more in it than is said in words. */
export const wordedFilter = (filter: Expression): string => printExpression(worded(filter));

function worded(filter: Expression): Expression {
  switch (filter.kind) {
    case "and":
    case "or": {
      const { kind } = filter;
      const all = operandsOf(filter, kind);
      const telling = kind === "and" ? all.filter((one) => !isFilled(one)) : all;
      const kept = (telling.length > 0 ? telling : all).slice(0, mostOperands).map(worded);
      return kept.reduce((left, right) => ({ kind, left, right }));
    }
    case "not":
      return { ...filter, of: worded(filter.of) };
    case "comparison":
      return { ...filter, left: worded(filter.left), right: worded(filter.right) };
    case "string":
      return { ...filter, value: filter.value.slice(0, maxLength + 1) };
    default:
      return filter;
  }
}

const signs: Readonly<Record<ComparisonOperator, string>> = {
  "=": "=",
  "!=": "≠",
  "<": "<",
  "<=": "≤",
  ">": ">",
  ">=": "≥",
};
const opposite: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  "=": "!=",
  "!=": "=",
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
};
/** Of numbers in legends, as wide as their digits. */
export const minus = "−";
/** Kinds of geometry by Mapnik's numbers, as readers call them, by language; in other languages English ones. */
const english = ["", "Points", "Lines", "Areas"];
const geometries: ReadonlyMap<string, readonly string[]> = new Map([
  ["en", english],
  ["de", ["", "Punkte", "Linien", "Flächen"]],
  ["ru", ["", "Точки", "Линии", "Площади"]],
  ["fr", ["", "Points", "Lignes", "Surfaces"]],
  ["es", ["", "Puntos", "Líneas", "Áreas"]],
]);

/** Says filters, such as `population ≥ 1,000,000` or `10 ≤ height < 20 and kind = oak`. */
export function filterWords({ locale, titleOf }: WordsOptions): (filter: Expression) => string {
  // Making a format takes a hundred times as long as using it.
  const words: Words = {
    titleOf,
    geometries: geometries.get(new Intl.Locale(locale).language) ?? english,
    number: new Intl.NumberFormat(locale, { maximumFractionDigits: 10 }),
    and: new Intl.ListFormat(locale, { type: "conjunction" }),
    or: new Intl.ListFormat(locale, { type: "disjunction" }),
  };
  return (filter) => {
    const text = wordsOf(filter, words);
    return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  };
}

function wordsOf(filter: Expression, words: Words): string {
  const { titleOf } = words;
  switch (filter.kind) {
    case "field":
      return titleOf(filter.name);
    case "and": {
      const all = operandsOf(filter, "and");
      const telling = all.filter((one) => !isFilled(one));
      const parts = withRanges(telling.length > 0 ? telling : all, words);
      return words.and.format(parts);
    }
    case "or": {
      const parts = operandsOf(filter, "or").map((one) => bracketed(one, words));
      return words.or.format(parts);
    }
    case "not": {
      const { of } = filter;
      if (of.kind === "not") return wordsOf(of.of, words);
      if (of.kind === "comparison") return wordsOf({ ...of, operator: opposite[of.operator] }, words);
      return `¬ (${wordsOf(of, words)})`;
    }
    case "comparison": {
      const found = comparisonOf(filter);
      if (!found) return printExpression(filter);
      const { of, operator, constant } = found;
      if (of.kind === "field") {
        if ((constant === true && operator === "=") || isFilled(filter)) return titleOf(of.name);
        return `${titleOf(of.name)} ${signs[operator]} ${valueWords(constant, words)}`;
      }
      const name = typeof constant === "number" ? words.geometries[constant] : undefined;
      return name ? `${operator === "=" ? "" : `${signs[operator]} `}${name}` : printExpression(filter);
    }
    default:
      return printExpression(filter);
  }
}

/** Whether the filter only asks for a value. */
function isFilled(filter: Expression): boolean {
  const found = filter.kind === "comparison" ? comparisonOf(filter) : undefined;
  return found?.operator === "!=" && found.constant === null;
}

const bracketed = (one: Expression, words: Words): string =>
  one.kind === "and" ? `(${wordsOf(one, words)})` : wordsOf(one, words);

/** The operands of a chain of the same operator. */
function operandsOf(filter: Expression, kind: "and" | "or"): Expression[] {
  return filter.kind === kind
    ? [...operandsOf(filter.left, kind), ...operandsOf(filter.right, kind)]
    : [filter];
}

/**
 * Filters without the conditions that all of them have, which tell none from another: those of a zoom at which only the greater
 * objects are shown. Undefined = nothing is left.
 */
export function withoutShared(filters: readonly Expression[]): (Expression | undefined)[] {
  const operands = filters.map((filter) =>
    operandsOf(filter, "and").map((one) => ({ one, text: printExpression(one) })),
  );
  const [first = [], ...others] = operands.map((all) => new Set(all.map(({ text }) => text)));
  const shared = new Set([...first].filter((text) => others.every((all) => all.has(text))));
  return operands.map((all) => {
    const [left, ...more] = all.filter(({ text }) => !shared.has(text));
    return left && more.reduce<Expression>((left, { one }) => ({ kind: "and", left, right: one }), left.one);
  });
}

/** Conditions in words, a lower and an upper bound of one column in one. */
function withRanges(conditions: readonly Expression[], words: Words): string[] {
  const bounds = conditions.map((one) => {
    const found = one.kind === "comparison" ? comparisonOf(one) : undefined;
    return found?.of.kind === "field" && typeof found.constant === "number" && /^[<>]/.test(found.operator)
      ? { code: found.of.name, sign: found.operator, value: valueWords(found.constant, words) }
      : undefined;
  });
  const joined = new Set<number>();
  return conditions.flatMap((one, at) => {
    if (joined.has(at)) return [];
    const lower = bounds[at];
    const partner =
      lower === undefined
        ? -1
        : bounds.findIndex((each) => each?.code === lower.code && each.sign[0] !== lower.sign[0]);
    const upper = bounds[partner];
    if (!lower || !upper) return [one.kind === "or" ? `(${wordsOf(one, words)})` : wordsOf(one, words)];
    joined.add(partner);
    const [from, to] = lower.sign.startsWith(">") ? [lower, upper] : [upper, lower];
    const sign = from.sign === ">" ? "<" : "≤";
    return [`${from.value} ${sign} ${words.titleOf(lower.code)} ${signs[to.sign]} ${to.value}`];
  });
}

function valueWords(value: SampleValue, { number }: Words): string {
  if (typeof value === "number") return number.format(value).replace("-", minus);
  if (value === null) return "∅";
  return value === "" ? "“”" : String(value);
}
