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

/** For values below and above 0, as ColorBrewer's RdBu, which the colour-blind can tell apart. */
const bothColors = { minColor: "#b2182b", midColor: "#f7f7f7", maxColor: "#2166ac" };
const colorFields = ["minColor", "midColor", "maxColor"] as const;

export const gradient: VisualKind = {
  schema: z
    .object({
      opacity: opacity.default(1),
      lineWidth: size.default(defaultLineWidth),
      midColor: colour.default(defaultColors.mid),
      minColor: colour.default(defaultColors.min),
      maxColor: colour.default(defaultColors.max),
      linePattern: pattern.default(""),
      /** Whether 0 is a border, at which colours turn. Absent: where values change their sign and no colours are given. */
      diverging: z.boolean().optional(),
      noData: noDataSchema,
    })
    .prefault({}),
  column: isMeasured,
  hasBorders: true,
  forBothSigns: (classes, given) =>
    [...colorFields, "diverging"].some((field) => (given[field] ?? undefined) !== undefined)
      ? undefined
      : { ...classes, ...bothColors, diverging: true },
  shown: (_layer, classes) => ({ diverging: false, ...classes }),
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
        color: colourOf(classes, breaks, at),
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
    const borders = (classes.borders ?? []) as unknown[];
    return borders.slice(1).map((end, at) => classificator(end, colourOf(classes, borders, at)));
  },
  symbols: ({ layer, settings, classes, values: { breaks } }) => {
    const count = Math.max(0, breaks.length - 1);
    return Array.from({ length: count }, (_, at) =>
      classSymbol(layer, settings, { color: colourOf(classes, breaks, at), classes }),
    );
  },
  noDataSymbol: ({ layer, settings, classes }, color) => classSymbol(layer, settings, { color, classes }),
};

const coloursOf = ({ minColor, midColor, maxColor }: Settings) =>
  [minColor, midColor, maxColor] as [string, string, string];

/** Colour of a class by its borders. */
function colourOf(classes: Settings, borders: readonly unknown[], at: number): string {
  const count = borders.length - 1;
  const zero = classes.diverging === true ? borders.indexOf(0, 1) : -1;
  const below = zero < 0 || zero === count ? 0 : zero;
  return below === 0
    ? classColour(coloursOf(classes), at, count)
    : divergingColour(coloursOf(classes), at - below, Math.max(below, count - below));
}

/**
 * Colour of a class below or above 0: as far from the middle colour as the class is from 0, alike on both sides.
 * @param at number of the class, from 0 above it and from -1 down below it
 * @param most classes of the side with more
 */
function divergingColour(colours: readonly [string, string, string], at: number, most: number): string {
  const distance = at < 0 ? at : at + 1;
  return classColour(colours, most + distance, 2 * most + 1);
}

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
