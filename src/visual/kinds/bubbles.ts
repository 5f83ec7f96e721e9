import { z } from "zod";
import type { Symbolizer } from "../../style/model.js";
import { type BubbleScale, bubbleScale, bubbleSql, bubbleWidth, legendValues } from "../bubble-sizes.js";
import { columnOf, isMeasured, type Settings } from "../columns.js";
import {
  array,
  borderOf,
  bounded,
  classSql,
  type FindPicture,
  iconOf,
  marker,
  pictureMarker,
  ringed,
  styleOf,
} from "../drawing.js";
import { classificator, type Visualization, type VisualKind } from "../kind.js";
import { countedNoData, noDataItem, noDataOf, noDataSchema } from "../no-data.js";
import { colour, flag, opacity, path, size } from "../schemas.js";
import { edgeOf, lighter } from "../shades.js";
import { classesQuestion } from "../statistics.js";
import { measure, quantity } from "../value-sql.js";
import type { VisualValues } from "../values.js";

/** Bubble chart: a marker on each object, whose area follows its value, or whose size tells the class of it. */

const sizings = ["continuous", "classes"] as const;

export const bubbles: VisualKind = {
  schema: z
    .object({
      pointSizeMin: size.default(5),
      pointSizeMax: size.default(50),
      icon: path.default(""),
      useIcon: flag(false),
      opacity: opacity.default(1),
      color: colour.default("#2a6fbb"),
      /** Absent: by class where the request has classes. */
      sizing: z.enum(sizings).optional(),
      noData: noDataSchema,
    })
    .prefault({}),
  column: isMeasured,
  hasBorders: true,
  hasRims: true,
  unclassed: (classes) => ({ sizing: "continuous", ...classes }),
  withValues: (classes, { borders, counts, others }) => ({
    ...classes,
    ...{ borders, counts, noData: countedNoData(classes, others) },
  }),
  // What was stored before there were continuous ones has classes.
  shown: (_layer, classes) => ({ sizing: "classes", ...classes }),
  question: ({ layer, settings }) => classesQuestion(layer, settings),
  drawsStatistics: true,
  draw: ({ layer, settings, classes, findPicture, values }) => {
    const column = columnOf(layer, settings.column);
    const scale = scaleOf({ layer, settings, classes }, values);
    const sizes = sizesOf(classes, Math.max(1, values.breaks.length - 1));
    const picture = iconOf(classes, findPicture);
    const symbol = symbolOf(settings, classes, { size: "[size$]", findPicture });
    const noData = noDataOf(classes);
    const rules = [{ filter: "[size$]>=0", symbolizers: [symbol] }];
    if (noData.checked)
      rules.push({
        filter: `[size$]=${noDataSize}`,
        symbolizers: [noDataDot(settings, classes)],
      });
    return {
      styles: [styleOf("bubbles", rules)],
      place: "point",
      columns: (context) => {
        const size =
          scale && column
            ? bubbleSql(scale, quantity(column, context) ?? "null::float8")
            : `(${array(sizes, "float8")})[1 + ${classSql(column && measure(column, context), values.breaks)}]`;
        return { size$: noData.checked ? `coalesce(${size},${noDataSize})` : size };
      },
      needed: ["size$"],
      beside: `max([size$],${noDataPixels})/2`,
      // Small ones stand on large ones.
      order: "size$ desc, svc_id",
      reach:
        (picture ? Math.SQRT1_2 : 0.5) *
          Math.max(noDataPixels, scale?.least ?? 0, scale?.most ?? 0, ...sizes) +
        bounded((settings.borderSettings as Settings).width) +
        2,
    };
  },
  legend: (_layer, { color, useIcon }) => [classificator(null, color, useIcon)],
  // By class the value of an item is the upper border of its class; without values there is one of the mean size.
  legendOfSymbols: (classes, settings) => {
    const { color, useIcon } = classes;
    const rim = rimOf(settings, classes);
    const borders = (classes.borders ?? []) as unknown[];
    const ends = borders.slice(1);
    const [min, max] = [borders[0], ends.at(-1)];
    const item = (value: unknown, width?: number) => ({
      ...classificator(value, color, useIcon),
      ...(width !== undefined && { size: Math.round(width * 10) / 10, ...(rim !== undefined && { rim }) }),
    });
    if (classes.sizing === "continuous" && min !== undefined) {
      const isAmount = typeof min === "number" && typeof max === "number";
      if (!isAmount)
        return [item(min, bounded(classes.pointSizeMin)), item(max, bounded(classes.pointSizeMax))];
      const scale = bubbleScale(classes, [min, max], true);
      return legendValues(scale).map((value) => item(value, bubbleWidth(scale, value)));
    }
    if (ends.length === 0) return [item(null)];
    const sizes = sizesOf(classes, ends.length);
    return ends.map((end, at) => item(end, sizes[at]));
  },
  symbols: ({ layer, settings, classes, findPicture, values }) => {
    const scale = scaleOf({ layer, settings, classes }, values);
    const sizes = scale
      ? isAmount({ layer, settings, classes })
        ? legendValues(scale).map((value) => bubbleWidth(scale, value))
        : [scale.least, scale.most]
      : sizesOf(classes, Math.max(1, values.breaks.length - 1));
    return sizes.map((size) => ({
      symbolizers: [symbolOf(settings, classes, { size, findPicture })],
      shape: "point",
      // All in the scale of the largest.
      side: Math.max(...sizes) + 2 * bounded((settings.borderSettings as Settings).width) + 2,
    }));
  },
  lastItem: noDataItem,
  lastSymbol: ({ settings, classes }) => ({
    symbolizers: [noDataDot(settings, classes)],
    shape: "point",
  }),
};

const isAmount = ({ layer, settings }: Visualization): boolean =>
  columnOf(layer, settings.column)?.type === "number";

/** Undefined = sizes are by class, or there are no values. */
function scaleOf(visualization: Visualization, { range }: VisualValues): BubbleScale | undefined {
  const { classes } = visualization;
  return classes.sizing === "continuous" && range
    ? bubbleScale(classes, range, isAmount(visualization))
    : undefined;
}

/** What stands for the size of objects without a value, whose dots have one of their own. */
const noDataSize = -1;
const noDataPixels = 5;

/** A ring, as pale as it is. */
function noDataDot(settings: Settings, classes: Settings): Symbolizer {
  const { color, hatched } = noDataOf(classes);
  const fill = hatched ? lighter({ color }) : color;
  return ringed(marker(settings, { fill, opacity: classes.opacity, size: noDataPixels }), "#8c8c8c");
}

function symbolOf(
  settings: Settings,
  classes: Settings,
  { size, findPicture }: { readonly size: number | string; readonly findPicture: FindPicture },
) {
  const look = { opacity: classes.opacity, size };
  const picture = iconOf(classes, findPicture);
  return picture
    ? pictureMarker(settings, { ...look, color: classes.color, picture })
    : rimmed(marker(settings, { ...look, fill: classes.color }), settings, classes);
}

/** The colour of rims; undefined = there are none. */
function rimOf(settings: Settings, { color }: Settings): string | undefined {
  const border = borderOf(settings);
  return border && (isByFill(settings) ? edgeOf(String(color)) : String(border.stroke));
}

const isByFill = ({ borderSettings }: Settings): boolean => (borderSettings as Settings).colorByFill === true;

/** The marker with the rim that suits its fill and its size: a pixel on large ones, as on small ones it would be most of them. */
function rimmed(circle: Symbolizer, settings: Settings, classes: Settings): Symbolizer {
  const rim = rimOf(settings, classes);
  if (rim === undefined || !isByFill(settings)) return circle;
  const { width } = circle.attributes;
  const size = Number(width);
  const thickness = Number.isNaN(size) ? `min(1,0.2+${width}/40)` : String(Math.min(1, 0.2 + size / 40));
  return { ...circle, attributes: { ...circle.attributes, stroke: rim, "stroke-width": thickness } };
}

/** Width of the marker of each class, in even steps; a single class has the mean. */
function sizesOf({ pointSizeMin, pointSizeMax }: Settings, count: number): number[] {
  const [least, most] = [bounded(pointSizeMin), bounded(pointSizeMax)];
  return Array.from(
    { length: count },
    (_, at) => least + (most - least) * (count > 1 ? at / (count - 1) : 0.5),
  );
}
