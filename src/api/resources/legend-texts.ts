import { type Column, type LayerNode, localName } from "../../catalog/state.js";
import type { Languages } from "../../features/column-sql.js";
import { columnFormatter } from "../../features/format.js";
import { locale } from "../../features/value-format.js";
import { columnOf, type Settings } from "../../visual/columns.js";
import type { Classificator } from "../../visual/kind.js";

/** What the lines of a visualization's legend say, in the format of the column and the language of the reader. */

export interface LegendTexts {
  /** Empty where none is to be shown. */
  readonly title: string;
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
  const column = columnOf(layer, settings.column);
  const format = formatterOf(column, languages);
  const { classificators, minValue } = legend;
  const texts = classificators.map(({ value }) => (value === null ? null : format(value)));
  const of = column ? localName(column, languages.own, languages.main) || column.code : "";
  return {
    title: settings.showLegendName ? String(legend.name) || of : "",
    texts: hasRanges(settings)
      ? texts.map((text, at) => {
          if (text === null) return null;
          const lower = at === 0 ? format(minValue) : texts[at - 1];
          return lower === text ? text : `${lower} – ${text}`;
        })
      : texts,
  };
}

/** Whether a class is told by its borders, of which its value is the upper one. */
const hasRanges = ({ type, classesSettings }: Settings): boolean =>
  type === 1 || (type === 3 && (classesSettings as Settings).sizing !== "continuous");

function formatterOf(column: Column | undefined, languages: Languages): (value: unknown) => string {
  const own = column && columnFormatter(column, languages);
  if (own) return (value) => String(own(value));
  if (column?.type !== "datetime") return String;
  const dates = new Intl.DateTimeFormat(locale(languages), { dateStyle: "medium", timeZone: "UTC" });
  return (value) => dates.format(new Date(String(value)));
}
