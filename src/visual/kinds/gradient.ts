import { z } from "zod";
import { columnOf, isMeasured, type Settings } from "../columns.js";
import { classReach, classRules, classSql, classSymbol, styleOf } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { countedNoData, noDataClass, noDataOf, noDataSchema } from "../no-data.js";
import { colour, defaultLineWidth, opacity, pattern, size } from "../schemas.js";
import { classesQuestion } from "../statistics.js";
import { measure } from "../value-sql.js";

/** Thematic map: classes of a column's values, coloured from one colour over a second to a third. */

/** Light to dark, so that more is darker; the colour-blind can tell them apart, and all of them from a white map. */
const defaultColors = { min: "#a1dab4", mid: "#41b6c4", max: "#253494" };

export const gradient: VisualKind = {
  schema: z
    .object({
      opacity: opacity.default(1),
      lineWidth: size.default(defaultLineWidth),
      midColor: colour.default(defaultColors.mid),
      minColor: colour.default(defaultColors.min),
      maxColor: colour.default(defaultColors.max),
      linePattern: pattern.default(""),
      noData: noDataSchema,
    })
    .prefault({}),
  column: isMeasured,
  hasBorders: true,
  withValues: (classes, { borders, counts, others }) => ({
    ...classes,
    ...{ borders, counts, noData: countedNoData(classes, others) },
  }),
  question: ({ layer, settings }) => classesQuestion(layer, settings),
  drawsStatistics: true,
  draw: ({ layer, settings, classes, values: { breaks } }) => {
    const column = columnOf(layer, settings.column);
    const count = Math.max(0, breaks.length - 1);
    const rules = Array.from({ length: count }, (_, at) =>
      classRules(layer, settings, {
        filter: `[class$]=${at}`,
        color: classColour(coloursOf(classes), at, count),
        classes,
      }),
    );
    const noData = noDataOf(classes);
    if (noData.checked) {
      const look = { filter: `[class$]=${noDataClass}`, color: noData.color, classes };
      rules.unshift(classRules(layer, settings, look));
    }
    return {
      styles: [styleOf("classes", rules.flat())],
      place: "object",
      columns: (context) => {
        const known = classSql(column && measure(column, context), breaks);
        return { class$: noData.checked ? `coalesce(${known},${noDataClass})` : known };
      },
      needed: ["class$"],
      ...(classes.opacity === 1 && { thinnedBy: "class$" }),
      reach: classReach(settings, classes),
    };
  },
  // The value of an item is the upper border of its class.
  legend: (_layer, classes) => {
    const ends = ((classes.borders ?? []) as unknown[]).slice(1);
    return ends.map((end, at) => classificator(end, classColour(coloursOf(classes), at, ends.length)));
  },
  symbols: ({ layer, settings, classes, values: { breaks } }) => {
    const count = Math.max(0, breaks.length - 1);
    return Array.from({ length: count }, (_, at) =>
      classSymbol(layer, settings, { color: classColour(coloursOf(classes), at, count), classes }),
    );
  },
  noDataSymbol: ({ layer, settings, classes }, color) => classSymbol(layer, settings, { color, classes }),
};

const coloursOf = ({ minColor, midColor, maxColor }: Settings) =>
  [minColor, midColor, maxColor] as [string, string, string];

/**
 * Colour of a class by linear interpolation in RGB between three colours; a single class has the second. All are #RRGGBB.
 */
export function classColour(
  [first, middle, last]: readonly [string, string, string],
  at: number,
  classes: number,
): string {
  const position = classes > 1 ? (2 * at) / (classes - 1) : 1;
  const [from, to, part] = position <= 1 ? [first, middle, position] : [middle, last, position - 1];
  const channel = (colour: string, i: number) => Number.parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(channel(from, i) * (1 - part) + channel(to, i) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
