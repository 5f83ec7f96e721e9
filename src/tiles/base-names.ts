import { onceForEach } from "../once.js";
import type { CompiledStyle, Rule, SymbolizerType } from "../style/model.js";
import { isOpaque } from "./thinning.js";

/**
 * Names of the base map under a map with labels of its own: they are drawn with these, after them, so that they take the room that
 * is left, and no town has its name twice.
 */

/** Whether a style writes names. */
export const writesNames = onceForEach((style: CompiledStyle): boolean =>
  style.styles.some(({ rules }) =>
    rules.some(({ symbolizers }) => symbolizers.some(({ type }) => type === "TextSymbolizer")),
  ),
);

/** Pixels between a name of the base map and what the map has there. */
const margin = 3;
/** Distance in pixels from a label with the same text within which the base map does not repeat it. */
const repeatDistance = 50;

/** The style of names that give way. */
export const givingWay = onceForEach(
  (style: CompiledStyle): CompiledStyle => ({
    ...style,
    styles: style.styles.map((one) => ({ ...one, rules: one.rules.map(ruleGivingWay) })),
  }),
);

/** The same below all of the map, where they are in the base map. */
export const hiddenNames = onceForEach((style: CompiledStyle): CompiledStyle => {
  const given = givingWay(style);
  const styles = given.styles.map((one) => ({
    ...one,
    attributes: { ...one.attributes, "comp-op": "dst-over" },
  }));
  return { ...given, styles };
});

const ruleGivingWay = (rule: Rule): Rule => ({
  ...rule,
  symbolizers: rule.symbolizers.map((symbolizer) => {
    if (symbolizer.type !== "TextSymbolizer") return symbolizer;
    const { "allow-overlap": _, ...attributes } = symbolizer.attributes;
    return {
      ...symbolizer,
      attributes: { ...attributes, margin: String(margin), "repeat-distance": String(repeatDistance) },
    };
  }),
});

const labels: ReadonlySet<SymbolizerType> = new Set(["TextSymbolizer", "ShieldSymbolizer"]);
const marks: ReadonlySet<SymbolizerType> = new Set(["MarkersSymbolizer", "PointSymbolizer"]);

/**
 * Unscaled pixels around a metatile from which the style's symbols have to be known, so that adjacent metatiles leave out the same
 * names: a name may reach so far into one of them, and what it gives way to may stand beyond it. 0 = nothing gives way to the style.
 * @param names the style of the names
 */
export function pixelsInTheWay(style: CompiledStyle, names: CompiledStyle): number {
  const gap = gapTo(style);
  return gap === 0 ? 0 : Math.min(mostPixels, style.bufferPixels + names.bufferPixels + gap);
}

const mostPixels = 256;

const gapTo = onceForEach((style: CompiledStyle): number => {
  const types = style.styles.flatMap(({ rules }) =>
    rules.flatMap(({ symbolizers }) =>
      symbolizers
        .filter(({ attributes }) => attributes["ignore-placement"] !== "true")
        .map(({ type }) => type),
    ),
  );
  if (types.some((type) => labels.has(type))) return repeatDistance;
  return types.some((type) => marks.has(type)) ? margin : 0;
});

/** Whether a style changes what is below it otherwise than by lying over it. */
export const isBlending = onceForEach((style: CompiledStyle): boolean =>
  style.styles.some(
    ({ attributes, rules }) =>
      isOperation(attributes["comp-op"]) ||
      "direct-image-filters" in attributes ||
      rules.some(({ symbolizers }) =>
        symbolizers.some(
          ({ attributes }) => isOperation(attributes["comp-op"]) || isOperation(attributes["halo-comp-op"]),
        ),
      ),
  ),
);
const isOperation = (operation: string | undefined): boolean =>
  operation !== undefined && operation !== "src-over";

/** Whether a style may hide what is below it in more than a few places: opaque areas, images, heat maps. */
export const mayHide = onceForEach(({ styles }: CompiledStyle): boolean =>
  styles.some(
    ({ attributes, rules }) =>
      "image-filters" in attributes ||
      (!isOperation(attributes["comp-op"]) &&
        isOpaque(attributes) &&
        rules.some(({ symbolizers }) =>
          symbolizers.some(
            ({ type, attributes }) =>
              areas.has(type) && !isOperation(attributes["comp-op"]) && isOpaque(attributes),
          ),
        )),
  ),
);
const areas: ReadonlySet<SymbolizerType> = new Set([
  "PolygonSymbolizer",
  "PolygonPatternSymbolizer",
  "BuildingSymbolizer",
  "RasterSymbolizer",
]);
