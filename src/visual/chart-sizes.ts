import type { Column, LayerNode } from "../catalog/state.js";
import type { Symbolizer } from "../style/model.js";
import { type BubbleScale, bubbleSql, bubbleWidth, legendValues } from "./bubble-sizes.js";
import { columnsIn, dotColor, sizeOf } from "./charts.js";
import { columnOf, type Settings } from "./columns.js";
import { bounded, type ClassSymbol, symbolizer } from "./drawing.js";
import { classificator, type SizedItem, type ValuedVisualization } from "./kind.js";
import { quantity, type ValueContext } from "./value-sql.js";
import type { Range } from "./values.js";

/** Sizes of charts: all have one, or their squares grow evenly over the range of a value of all objects of the layer. */

/** Sizes between which the charts are, in pixels. */
export function sizesOf({ sizeType, sizeValue, sizeFrom, sizeTo }: Settings): Range {
  const least = bounded(sizeType === sizeOf.fixed ? sizeValue : sizeFrom);
  return [least, sizeType === sizeOf.fixed ? least : bounded(sizeTo)];
}

/** What they tell: a column, or the sum of the values; undefined = nothing. */
export function sizedBy(layer: LayerNode, { sizeType, sizeColumn }: Settings): Column | "sum" | undefined {
  if (sizeType === sizeOf.sum) return "sum";
  return sizeType === sizeOf.column ? columnOf(layer, sizeColumn) : undefined;
}

/** Undefined = all have one size, or there are no values. */
function scaleOf(layer: LayerNode, classes: Settings, range: Range | null): BubbleScale | undefined {
  if (!range || !sizedBy(layer, classes)) return undefined;
  const [least, most] = sizesOf(classes);
  return { least, most, from: range[0], to: range[1], isProportional: false };
}

export const valueSql = (layer: LayerNode, id: unknown, context: ValueContext): string => {
  const column = columnOf(layer, id);
  return (column && quantity(column, context)) ?? "null::float8";
};

/** SQL of the size. Without a value in the column of sizes it is the least: the chart has something to show. */
export function sizeSql({ layer, classes, values }: ValuedVisualization, context: ValueContext): string {
  const least = `${sizesOf(classes)[0]}::float8`;
  if (classes.sizeType === sizeOf.fixed) return least;
  const absent = classes.sizeType === sizeOf.sum ? "null::float8" : least;
  const scale = scaleOf(layer, classes, values.range);
  if (!scale) return absent;
  const shown = columnsIn(classes).map(({ id }) => valueSql(layer, id, context));
  const value =
    classes.sizeType === sizeOf.sum
      ? `case when num_nonnulls(${shown.join(",")}) > 0 then ${shown.map((sql) => `coalesce(${sql},0)`).join("+")} end`
      : valueSql(layer, classes.sizeColumn, context);
  return `coalesce(${bubbleSql(scale, value)}, ${absent})`;
}

/** Pale, with a rim that is seen on any ground: the colours of charts are those of their columns. */
const pale = { fill: "#e9ecef", rim: dotColor };

type Sized = Pick<ValuedVisualization, "layer" | "classes" | "values">;

/** Sizes of round charts for a legend, ascending. */
export function sizeItems({ layer, classes, values }: Sized): SizedItem[] {
  const scale = scaleOf(layer, classes, values.range);
  if (!scale) return [];
  const by = sizedBy(layer, classes);
  const item = (value: unknown, width: number) => ({
    ...classificator(value, pale.fill),
    ...{ size: Math.round(width * 10) / 10, rim: pale.rim },
  });
  if (by === "sum" || by?.type === "number")
    return legendValues(scale).map((value) => item(value, bubbleWidth(scale, value)));
  const most = item(values.max, scale.most);
  return scale.from === scale.to ? [most] : [item(values.min, scale.least), most];
}

/** Those of charts with axes, which are squares. */
export const squareItems = (chart: Sized): SizedItem[] =>
  sizeItems(chart).map((item) => ({ ...item, isSquare: true }));

/** Their symbols. */
export function sizeSymbols(items: readonly SizedItem[]): ClassSymbol[] {
  // All in the scale of the largest.
  const side = Math.max(...items.map(({ size }) => size)) + 4;
  return items.map((item) => ({
    symbolizers: [item.isSquare ? squareOf(item) : circleOf(item)],
    shape: "point",
    side,
  }));
}

const look = ({ fill, rim }: SizedItem) => ({
  ...{ fill: String(fill), stroke: rim },
  ...{ "allow-overlap": true, "ignore-placement": true },
});

const circleOf = (item: SizedItem): Symbolizer =>
  symbolizer("MarkersSymbolizer", {
    ...look(item),
    ...{ width: item.size, height: item.size, "stroke-width": 1 },
  });

/** Pixels that the icon's square is wide. */
const iconSide = 11;

/** Its rim is enlarged with it. */
const squareOf = (item: SizedItem): Symbolizer => ({
  ...symbolizer("MarkersSymbolizer", {
    ...look(item),
    ...{
      transform: `scale(${Math.max(0.1, item.size) / iconSide})`,
      "stroke-width": iconSide / Math.max(1, item.size),
    },
  }),
  picture: "icon:square",
});
