import {
  type FormatLanguages,
  locale,
  type NumberFormat,
  numberFormatter,
} from "../../features/value-format.js";
import { minus } from "../../style/filter-words.js";

/**
 * Numbers of a legend in words. A class has its upper border and not its lower one, but for the first, which has both: so
 * `900 – 30,000`, then `> 30,000 – 37,500`. All numbers of a legend have the same decimals.
 */

/** What stands between two numbers where a dash would look like a sign. */
const to: Readonly<Record<string, string>> = { en: "to", ru: "до", de: "bis", fr: "à", es: "a" };

/** Of what tells numbers apart: what is less is not written of borders, and of the ends of a single class. */
const [partOfBorders, partOfEnds] = [1e-7, 1e-3];
const mostDecimals = 20;

/** Each class in words. @param borders ascending, one more than classes */
export function classTexts(
  borders: readonly number[],
  format: NumberFormat,
  languages: FormatLanguages,
): string[] {
  const inner = borders.slice(1, -1);
  const last = borders.length - 1;
  const width = borders[last]! - borders[0]!;
  const isSingle = inner.length === 0 && width > 0;
  const decimals = isSingle
    ? decimalsOf(borders, format.decimals, partOfEnds * width)
    : decimalsOf(inner.length > 0 ? inner : borders, format.decimals);
  const write = numberFormatter({ ...format, decimals }, languages, minus);
  const texts = borders.map((each, at) =>
    String(write(at === 0 ? -above(-each, decimals) : at === last ? above(each, decimals) : each)),
  );
  const isSigned = borders.some((each) => each < 0);
  const dash = isSigned ? (to[locale(languages).split("-")[0]!] ?? "…") : "–";
  return rangeTexts(texts, dash);
}

/** Each class in words. @param texts of the borders */
export const rangeTexts = (texts: readonly string[], dash = "–"): string[] =>
  texts.slice(1).map((upper, at) => {
    const lower = texts[at]!;
    if (lower === upper) return upper;
    return `${at > 0 ? "> " : ""}${lower} ${dash} ${upper}`;
  });

/** Each number in words. */
export function valueTexts(
  values: readonly number[],
  format: NumberFormat,
  languages: FormatLanguages,
): string[] {
  const decimals = decimalsOf(values, format.decimals);
  const write = numberFormatter({ ...format, decimals }, languages, minus);
  return values.map((value) => String(write(value)));
}

/** How many decimals all of them need, at least so many, to be written as they are, but for so little. */
function decimalsOf(ascending: readonly number[], least = 0, slack = slackOf(ascending)): number {
  const isWritten = (decimals: number) =>
    ascending.every((each) => Math.abs(Number(each.toFixed(decimals)) - each) <= slack);
  let decimals = least;
  while (decimals < mostDecimals && !isWritten(decimals)) decimals++;
  return decimals;
}

/** By the least of their distances and of themselves. */
function slackOf(ascending: readonly number[]): number {
  const distances = ascending.slice(1).map((each, at) => each - ascending[at]!);
  return partOfBorders * Math.min(...[...distances, ...ascending.map(Math.abs)].filter((each) => each > 0));
}

/** The least number of so many decimals that is not below it: no value of a legend is beyond its ends. */
function above(value: number, decimals: number): number {
  const near = Number(value.toFixed(decimals));
  return near < value ? near + 10 ** -decimals : near;
}
