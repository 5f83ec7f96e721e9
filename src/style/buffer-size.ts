import type { Style, Symbolizer } from "./model.js";

/** Assumed length of a label. Longer ones may be cut at the edge of a metatile. */
const charactersPerLabel = 20;
/** Mean width of a character as a fraction of the font size. */
const characterWidth = 0.6;
const maxBuffer = 256;

/** The larger side of a picture in pixels; undefined = not known, then it counts as a plain marker. */
export type PictureSize = (symbolizer: Symbolizer) => number | undefined;

/** How far symbols and labels may extend from their object, in unscaled pixels: 1 to 256. */
export function bufferPixelsOf(styles: readonly Style[], sizeOf: PictureSize = () => undefined): number {
  let buffer = 1;
  for (const style of styles) {
    const blurred = blur(style.attributes["image-filters"]);
    for (const rule of style.rules) {
      for (const symbolizer of rule.symbolizers)
        buffer = Math.max(buffer, blurred + symbolizerBuffer(symbolizer, sizeOf(symbolizer)));
    }
  }
  return Math.min(maxBuffer, Math.ceil(buffer));
}

function symbolizerBuffer(symbolizer: Symbolizer, picturePixels: number | undefined): number {
  const number = (name: string, absent: number): number => {
    const text = symbolizer.attributes[name];
    if (text === undefined) return absent;
    const value = Number(text);
    // An expression, written as `min(<upper bound>,…` (scalars.ts).
    return Number.isNaN(value) ? Number(/^min\(([\d.]+),/.exec(text)?.[1] ?? maxBuffer) : Math.abs(value);
  };
  const shifted = transformBuffer(symbolizer.attributes["geometry-transform"]).shift;
  const own = transformBuffer(symbolizer.attributes.transform);
  const picture = (pixels = 256): number => (pixels / 2) * Math.SQRT2 * own.scale + own.shift + 1;
  switch (symbolizer.type) {
    case "LineSymbolizer": {
      const half = number("stroke-width", 1) / 2;
      // Miter joins extend up to the miter limit.
      const isMiter = /^miter/.test(symbolizer.attributes["stroke-linejoin"] ?? "miter");
      return (
        half * (isMiter ? Math.min(number("stroke-miterlimit", 4), 4) : 1.5) +
        number("offset", 0) +
        shifted +
        1
      );
    }
    case "MarkersSymbolizer": {
      const plain = picturePixels ?? 10;
      const size = Math.max(
        number("width", number("height", plain)),
        number("height", picturePixels === undefined ? 10 : number("width", plain)),
      );
      return (
        ((size + number("stroke-width", 0.5)) / 2) * Math.SQRT2 * own.scale +
        own.shift +
        number("offset", 0) +
        shifted +
        1
      );
    }
    case "TextSymbolizer":
      return labelBuffer(symbolizer, number) + shifted;
    case "ShieldSymbolizer": {
      const moved = number("shield-dx", 0) + number("shield-dy", 0);
      return Math.max(labelBuffer(symbolizer, number), picture(picturePixels) + moved) + shifted;
    }
    case "PointSymbolizer":
    case "LinePatternSymbolizer":
      return picture(picturePixels) + shifted;
    case "BuildingSymbolizer":
      return number("height", 0) + 1;
    case "DotSymbolizer":
      return Math.max(number("width", 1), number("height", 1)) + 1;
    default:
      return 1 + shifted;
  }
}

function labelBuffer(symbolizer: Symbolizer, number: (name: string, absent: number) => number): number {
  const size = number("size", 10);
  const wrap = number("wrap-width", 0);
  const line = charactersPerLabel * (size * characterWidth + number("character-spacing", 0));
  const width = wrap > 0 ? Math.min(line, Math.max(wrap, size * 6)) : line;
  // A label is centred on its point unless it is placed beside it.
  const isBeside =
    symbolizer.attributes["placement-type"] === "simple" || symbolizer.attributes["horizontal-alignment"];
  const shift =
    number("dx", 0) + number("dy", 0) + number("offset", 0) + number("halo-radius", 0) + number("margin", 0);
  const reach = (isBeside ? width : width / 2) + size * (wrap > 0 ? 2 : 1) + shift + 1;
  // So that adjacent metatiles leave the same ones out, as far as they can know.
  return Math.max(reach, number("repeat-distance", 0));
}

/** How much a transformation enlarges and moves, at most. */
export function transformBuffer(text: string | undefined): { scale: number; shift: number } {
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
