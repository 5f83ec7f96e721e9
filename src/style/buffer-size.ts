import type { Style, Symbolizer } from "./model.js";

/** Labels are taken for about twenty characters: longer ones are cut at metatile edges only where nothing else fits. */
const charactersPerLabel = 20;
/** Width of a character in parts of the font's size. */
const characterWidth = 0.6;
const maxBuffer = 256;

/** How far, in unscaled pixels, what the styles draw may reach from the object: 1 to 256. */
export function bufferPixelsOf(styles: readonly Style[]): number {
  let reach = 1;
  for (const style of styles) {
    const spread = blur(style.attributes["image-filters"]);
    for (const rule of style.rules) {
      for (const symbolizer of rule.symbolizers)
        reach = Math.max(reach, spread + symbolizerBuffer(symbolizer));
    }
  }
  return Math.min(maxBuffer, Math.ceil(reach));
}

function symbolizerBuffer(symbolizer: Symbolizer): number {
  const number = (name: string, absent: number): number => {
    const text = symbolizer.attributes[name];
    if (text === undefined) return absent;
    const value = Number(text);
    // An expression: its upper bound is written in front.
    return Number.isNaN(value) ? Number(/^min\(([\d.]+),/.exec(text)?.[1] ?? maxBuffer) : Math.abs(value);
  };
  const moved = transformBuffer(symbolizer.attributes["geometry-transform"]).shift;
  switch (symbolizer.type) {
    case "LineSymbolizer": {
      const half = number("stroke-width", 1) / 2;
      // Pointed joins stand out as far as the miter limit lets them.
      const pointed = /^miter/.test(symbolizer.attributes["stroke-linejoin"] ?? "miter");
      return (
        half * (pointed ? Math.min(number("stroke-miterlimit", 4), 4) : 1.5) + number("offset", 0) + moved + 1
      );
    }
    case "MarkersSymbolizer": {
      const { scale, shift } = transformBuffer(symbolizer.attributes.transform);
      const size = Math.max(number("width", number("height", 10)), number("height", 10));
      return (
        ((size + number("stroke-width", 0.5)) / 2) * Math.SQRT2 * scale +
        shift +
        number("offset", 0) +
        moved +
        1
      );
    }
    case "TextSymbolizer":
    case "ShieldSymbolizer":
      return labelBuffer(symbolizer, number) + moved;
    case "PointSymbolizer":
    case "LinePatternSymbolizer":
      return 128 + moved;
    case "BuildingSymbolizer":
      return number("height", 0) + 1;
    case "DotSymbolizer":
      return Math.max(number("width", 1), number("height", 1)) + 1;
    default:
      return 1 + moved;
  }
}

function labelBuffer(symbolizer: Symbolizer, number: (name: string, absent: number) => number): number {
  const size = number("size", 10);
  const wrap = number("wrap-width", 0);
  const line = charactersPerLabel * (size * characterWidth + number("character-spacing", 0));
  const width = wrap > 0 ? Math.min(line, Math.max(wrap, size * 6)) : line;
  // Half of the label lies on either side, unless it is put beside its point.
  const beside =
    symbolizer.attributes["placement-type"] === "simple" || symbolizer.attributes["horizontal-alignment"];
  const shift = number("dx", 0) + number("dy", 0) + number("offset", 0) + number("halo-radius", 0);
  return (beside ? width : width / 2) + size * (wrap > 0 ? 2 : 1) + shift + 1;
}

/** How much a transformation enlarges and moves, at most. */
function transformBuffer(text: string | undefined): { scale: number; shift: number } {
  let scale = 1;
  let shift = 0;
  for (const [, name, list] of (text ?? "").matchAll(/(\w+)\(([-\d.,eE+]*)\)/g)) {
    const values = (list ?? "").split(",").map((value) => Math.abs(Number(value)));
    if (name === "scale") scale *= Math.max(...values);
    if (name === "translate") shift += Math.max(...values) * Math.SQRT2;
    if (name === "rotate") shift += 2 * Math.max(0, ...values.slice(1));
    if (name === "skewX" || name === "skewY") scale *= 6;
    if (name === "matrix") {
      scale *= Math.max(1, ...values.slice(0, 4)) * 2;
      shift += Math.max(...values.slice(4));
    }
  }
  return { scale: Math.max(1, scale), shift: shift * Math.max(1, scale) };
}

function blur(filters: string | undefined): number {
  let sum = 0;
  for (const [, x, y] of (filters ?? "").matchAll(/agg-stack-blur\((\d+),(\d+)\)/g))
    sum += Math.max(Number(x), Number(y));
  return sum;
}
