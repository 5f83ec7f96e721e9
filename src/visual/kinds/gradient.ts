import { z } from "zod";
import type { LayerNode } from "../../catalog/state.js";
import { colourOf, commonColours } from "../class-colours.js";
import { columnOf, isMeasured, type Settings } from "../columns.js";
import { classReach, classRules, classSql, classSymbol, halfOfPoints, styleOf } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { countedNoData, noDataClass, noDataItem, noDataOf, noDataSchema } from "../no-data.js";
import { isDiverging, paletteEnds, paletteSchema } from "../palettes.js";
import { colour, defaultLineWidth, maxClasses, opacity, pattern, size } from "../schemas.js";
import { lighter } from "../shades.js";
import { classesQuestion } from "../statistics.js";
import { measure } from "../value-sql.js";

/** Thematic map: classes of a column's values, coloured from one colour over a second to a third, or by a palette. */

/** Light to dark, so that more is darker; the colour-blind can tell them apart, and all of them from a white map. */

/** For values below and above 0, as ColorBrewer's RdBu, which the colour-blind can tell apart. */
const bothColors = { minColor: "#b2182b", midColor: "#f7f7f7", maxColor: "#2166ac" };
const colorFields = ["minColor", "midColor", "maxColor"] as const;

export const gradient: VisualKind = {
  schema: z
    .object({
      opacity: opacity.default(1),
      lineWidth: size.default(defaultLineWidth),
      midColor: colour.default(commonColours.midColor),
      minColor: colour.default(commonColours.minColor),
      maxColor: colour.default(commonColours.maxColor),
      linePattern: pattern.default(""),
      /** Of ColorBrewer. An addition to the contract, whose three colours are then its first, middle and last. */
      palette: paletteSchema,
      /** Whether 0 is a border, at which colours turn. Absent: where values change their sign and no colours are given. */
      diverging: z.boolean().optional(),
      /**
       * Borders between classes in place of those by the algorithm; they have one class more. Of timestamps in seconds since 1970. An
       * addition to the contract.
       */
      breaks: z
        .array(z.number().min(-1e300).max(1e300))
        .min(1)
        .max(maxClasses - 1)
        .refine((breaks) => breaks.every((each, at) => at === 0 || each > breaks[at - 1]!), "must ascend")
        .optional(),
      noData: noDataSchema,
    })
    .prefault({}),
  column: isMeasured,
  hasBorders: true,
  countOf: ({ breaks }) => (Array.isArray(breaks) ? breaks.length + 1 : undefined),
  forBothSigns: (classes, given) => {
    if ([...colorFields, "diverging"].some((field) => isGiven(given, field))) return undefined;
    if (classes.palette === undefined) return { ...classes, ...bothColors, diverging: true };
    return isDiverging(classes.palette) ? { ...classes, diverging: true } : undefined;
  },
  // Colours of the request count: a client that does not know palettes changes them in an answer, and sends it back.
  read: (_layer, { palette, ...classes }, _at, given) => {
    const ends = paletteEnds(palette);
    if (!ends) return classes;
    const isOwn = colorFields.some((field, at) => isGiven(given, field) && classes[field] !== ends[at]);
    return isOwn
      ? classes
      : { ...classes, palette, ...Object.fromEntries(colorFields.map((field, at) => [field, ends[at]])) };
  },
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
    const opacity = Number(classes.opacity);
    const looks = Array.from({ length: count }, (_, at) => ({
      filter: `[class$]=${at}`,
      color: colourOf(classes, breaks, at),
      hatched: false,
    }));
    const noData = noDataOf(classes);
    if (noData.checked) looks.unshift({ ...noData, filter: `[class$]=${noDataClass}` });
    const rules = looks.flatMap(({ filter, color, hatched }) =>
      classRules(layer, settings, { filter, color, hatched, classes }),
    );
    return {
      styles: [styleOf("classes", rules)],
      fills: looks.map(({ filter, color, hatched }) => ({
        filter,
        color: hatched ? lighter({ color }) : color,
        opacity,
      })),
      place: "object",
      columns: (context) => {
        const known = classSql(column && measure(column, context), breaks);
        return { class$: noData.checked ? `coalesce(${known},${noDataClass})` : known };
      },
      needed: ["class$"],
      ...(isStacked(layer, settings, classes) && { order: "class$, svc_id" }),
      ...(classes.opacity === 1 && { thinnedBy: "class$" }),
      beside: halfOfPoints(settings),
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
  lastItem: noDataItem,
  lastSymbol: ({ layer, settings, classes }) =>
    classSymbol(layer, settings, { ...noDataOf(classes), classes }),
};

/**
 * Whether greater values are drawn over lesser ones. Not those on both sides of 0, of which neither is more. What is drawn first
 * has the room for its label: with labels all stay in the order of their ids.
 */
const isStacked = (layer: LayerNode, { showText }: Settings, { diverging }: Settings): boolean =>
  layer.geometryKind !== "Polygon" && diverging !== true && showText !== true;

const isGiven = (given: Settings, field: string): boolean => (given[field] ?? undefined) !== undefined;
