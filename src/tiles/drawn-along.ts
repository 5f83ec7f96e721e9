import type { CompiledStyle, Symbolizer } from "../style/model.js";
import { rulesAt } from "./thinning.js";

/**
 * Dashes, patterns, and symbols and labels along lines cost as much as a shape has of pixels, seen or not: the border of a
 * country has millions at high zooms. So a tile reads what of a shape lies in a wide box, the same for all tiles around, as
 * what is repeated has its places from where the shape begins.
 */

/** Half a side of the box. Where boxes meet, dashes need not fit, so they are wide. */
const cellPixels = 32_768;

const isLabel = ({ type }: Symbolizer): boolean =>
  type === "MarkersSymbolizer" || type === "TextSymbolizer" || type === "ShieldSymbolizer";

const isRepeated = (symbolizer: Symbolizer): boolean =>
  symbolizer.type === "LinePatternSymbolizer" ||
  symbolizer.attributes["stroke-dasharray"] !== undefined ||
  (isLabel(symbolizer) && symbolizer.attributes.placement === "line");

/** One symbol for a shape stands in its middle, and transformations may move what is far away to where it is seen. */
const mayBeCut = (symbolizer: Symbolizer): boolean =>
  symbolizer.type !== "PointSymbolizer" &&
  symbolizer.attributes["geometry-transform"] === undefined &&
  (!isLabel(symbolizer) || symbolizer.attributes.placement === "line");

/** Whether something is repeated along shapes at a scale, and nothing shows where a shape is cut far away. */
export function isDrawnAlong(style: CompiledStyle, scaleDenominator: number): boolean {
  const symbolizers = rulesAt(style, scaleDenominator).flatMap((rule) => rule.symbolizers);
  return symbolizers.some(isRepeated) && symbolizers.every(mayBeCut);
}

/**
 * SQL of a geometry within the box around what is drawn; as it is when it lies in it.
 * @param box SQL of what is drawn
 * @param pixel SQL of the width of a pixel
 */
export function cutSql(geometry: string, box: string, pixel = "!pixel_width!"): string {
  const side = `${pixel}::float8 * ${cellPixels}`;
  const around = `st_expand(st_snaptogrid(st_centroid(${box}), ${side}), ${side})`;
  return (
    `case when ${geometry} @ ${around} then ${geometry} ` +
    `else coalesce(st_clipbybox2d(${geometry}, ${around}::box2d), ${geometry}) end`
  );
}
