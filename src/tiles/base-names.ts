import { onceForEach } from "../once.js";
import type { CompiledStyle, Rule, SymbolizerType } from "../style/model.js";

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
/** Within so many pixels of a label with the same text the base map does not repeat it. */
const repeatDistance = 100;

/** The style of names that give way. */
export const givingWay = onceForEach(
  (style: CompiledStyle): CompiledStyle => ({
    ...style,
    bufferPixels: Math.max(style.bufferPixels + margin, repeatDistance),
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
    const { "allow-overlap": _, ...attributes } = symbolizer.attributes;
    return {
      ...symbolizer,
      attributes: { ...attributes, margin: String(margin), "repeat-distance": String(repeatDistance) },
    };
  }),
});

const placed: ReadonlySet<SymbolizerType> = new Set([
  "TextSymbolizer",
  "ShieldSymbolizer",
  "MarkersSymbolizer",
  "PointSymbolizer",
]);

/** Whether a style has symbols that names keep clear of. */
export const standsInTheWay = onceForEach((style: CompiledStyle): boolean =>
  style.styles.some(({ rules }) =>
    rules.some(({ symbolizers }) => symbolizers.some(({ type }) => placed.has(type))),
  ),
);
