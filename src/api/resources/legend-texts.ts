import { type Column, type LayerNode, localName } from "../../catalog/state.js";
import type { Languages } from "../../features/column-sql.js";
import { columnFormatter, numberFormatOf } from "../../features/format.js";
import { locale, type NumberFormat, numberFormatter } from "../../features/value-format.js";
import { minus } from "../../style/filter-words.js";
import { columnOf, type Settings } from "../../visual/columns.js";
import type { Classificator } from "../../visual/kind.js";
import { kindOf } from "../../visual/kinds.js";
import { classTexts, rangeTexts, valueTexts } from "./legend-bounds.js";

/** What the lines of a visualization's legend say, in the format of the column and the language of the reader. */

export interface LegendTexts {
  /** Empty where none is to be shown. */
  readonly title: string;
  /** What the sizes of charts tell; null = the sum of their values. Absent where they tell nothing. */
  readonly sizeTitle?: string | null;
  /** Of each class; null where its value is none, so that clients have words of their own. */
  readonly texts: readonly (string | null)[];
}

export function legendTexts(
  layer: LayerNode,
  legend: {
    readonly name: unknown;
    readonly minValue: unknown;
    readonly classificators: readonly Classificator[];
  },
  languages: Languages,
): LegendTexts {
  const settings = layer.visualSettings as Settings;
  const classes = settings.classesSettings as Settings;
  const column = columnOf(layer, settings.column);
  const sizedBy = kindOf(settings).sizedBy?.(layer, classes);
  const { classificators, minValue } = legend;
  const isMeasured = ({ value, size }: Classificator) =>
    value !== null && (settings.type === 1 || size !== undefined);
  const values = classificators.filter(isMeasured).map(({ value }) => value);
  const measured = measuredTexts(
    hasRanges(settings) && values.length > 0 ? [minValue, ...values] : values,
    sizedBy ?? column,
    { languages, areBorders: hasRanges(settings) },
  );
  const format = formatterOf(column, languages);
  const titleOf = (one: Column) => localName(one, languages.own, languages.main) || one.code;
  let next = 0;
  return {
    title: settings.showLegendName ? String(legend.name) || (column ? titleOf(column) : "") : "",
    ...(sizedBy && values.length > 0 && { sizeTitle: sizedBy === "sum" ? null : titleOf(sizedBy) }),
    texts: classificators.map((one) =>
      isMeasured(one) ? measured[next++]! : one.value === null ? null : format(one.value),
    ),
  };
}

/** Whether a class is told by its borders, of which its value is the upper one. */
const hasRanges = ({ type, classesSettings }: Settings): boolean =>
  type === 1 || (type === 3 && (classesSettings as Settings).sizing !== "continuous");

function measuredTexts(
  values: readonly unknown[],
  of: Column | "sum" | undefined,
  { languages, areBorders }: { readonly languages: Languages; readonly areBorders: boolean },
): string[] {
  const format: NumberFormat | undefined = of === "sum" ? { kind: "number" } : of && numberFormatOf(of);
  if (format) return (areBorders ? classTexts : valueTexts)(values as number[], format, languages);
  const texts = values.map(formatterOf(of === "sum" ? undefined : of, languages));
  return areBorders ? rangeTexts(texts) : texts;
}

function formatterOf(column: Column | undefined, languages: Languages): (value: unknown) => string {
  const number = column && numberFormatOf(column);
  const own = number
    ? numberFormatter(number, languages, minus)
    : column && columnFormatter(column, languages);
  if (own) return (value) => String(own(value));
  if (column?.type !== "datetime") return String;
  const dates = new Intl.DateTimeFormat(locale(languages), { dateStyle: "medium", timeZone: "UTC" });
  return (value) => dates.format(new Date(String(value)));
}
