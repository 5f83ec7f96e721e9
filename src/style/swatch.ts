import type { GeometryKind } from "../geo/wkb.js";
import type { CompiledStyle, Rule, Symbolizer } from "./model.js";
import { constant } from "./scalars.js";

/** What a style looks like in one small picture. */

export interface Swatch {
  readonly shape: "point" | "line" | "area";
  /** Colour, or "none". */
  readonly fill: string;
  readonly fillOpacity: number;
  readonly stroke: string;
  readonly strokeOpacity: number;
  /** Pixels of a tile. */
  readonly strokeWidth: number;
  /** Width of the mark in pixels of a tile. */
  readonly size: number;
}

/** Mapnik's own defaults: grey areas, black lines, blue marks. */
const plain = { fillOpacity: 1, strokeOpacity: 1, strokeWidth: 1, size: 10 };
const grey: Swatch = { ...plain, shape: "area", fill: "#808080", stroke: "none" };

/** The look of a layer: what its style draws for its kind of geometry, always before only sometimes. */
export function swatchOf(style: CompiledStyle, kind: GeometryKind): Swatch {
  // Of one style the most particular rule comes first.
  const rules = style.styles.flatMap((one) => one.rules.toReversed());
  const conditions = (rule: Rule) =>
    (rule.filter ? 2 : 0) +
    (rule.minScaleDenominator === undefined && rule.maxScaleDenominator === undefined ? 0 : 1);
  const ordered = rules.toSorted((one, other) => conditions(one) - conditions(other));
  const symbolizers = ordered.flatMap((rule) => rule.symbolizers);
  const first = (...types: Symbolizer["type"][]) => symbolizers.find(({ type }) => types.includes(type));
  const area = first("PolygonSymbolizer", "PolygonPatternSymbolizer", "BuildingSymbolizer");
  const line = first("LineSymbolizer", "LinePatternSymbolizer");
  const mark = first("MarkersSymbolizer", "PointSymbolizer", "ShieldSymbolizer", "DotSymbolizer");
  const label = first("TextSymbolizer");
  switch (kind) {
    case "Point":
      return mark ? markSwatch(mark) : label ? labelSwatch(label) : grey;
    case "LineString":
      return line ? lineSwatch(line) : mark ? markSwatch(mark) : grey;
    default:
      if (area) return areaSwatch(area, line);
      // Borders alone are an area without a filling where the layer has areas.
      if (line) return kind === "Polygon" ? { ...lineSwatch(line), shape: "area" } : lineSwatch(line);
      return mark ? markSwatch(mark) : label ? labelSwatch(label) : grey;
  }
}

function areaSwatch(area: Symbolizer, line: Symbolizer | undefined): Swatch {
  const border = line ? lineSwatch(line) : { stroke: "none", strokeOpacity: 1, strokeWidth: 1 };
  return {
    ...plain,
    shape: "area",
    fill: area.attributes.fill ?? grey.fill,
    fillOpacity: read(area, "fill-opacity", 1),
    stroke: border.stroke,
    strokeOpacity: border.strokeOpacity,
    strokeWidth: border.strokeWidth,
  };
}

const lineSwatch = (line: Symbolizer): Swatch => ({
  ...plain,
  shape: "line",
  fill: "none",
  stroke: line.attributes.stroke ?? "#000000",
  strokeOpacity: read(line, "stroke-opacity", 1),
  strokeWidth: read(line, "stroke-width", 1),
});

const markSwatch = (mark: Symbolizer): Swatch => ({
  shape: "point",
  fill: mark.attributes.fill ?? "#0000ff",
  fillOpacity: read(mark, "fill-opacity", read(mark, "opacity", 1)),
  stroke: mark.attributes.stroke ?? "none",
  strokeOpacity: read(mark, "stroke-opacity", read(mark, "opacity", 1)),
  strokeWidth: read(mark, "stroke-width", 0.5),
  size: read(mark, "width", read(mark, "height", plain.size)),
});

const labelSwatch = (label: Symbolizer): Swatch => ({
  ...plain,
  shape: "point",
  fill: label.attributes.fill ?? "#000000",
  stroke: "none",
});

/** A number that does not depend on the object; else the fallback. */
const read = (symbolizer: Symbolizer, name: string, fallback: number): number =>
  constant(symbolizer.attributes[name] ?? "") ?? fallback;

/** The swatch as an SVG of 32 × 32 units. Colours are checked ones, and all else is numbers. */
export function swatchSvg(swatch: Swatch): string {
  const within = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));
  const strokeWidth = within(swatch.strokeWidth, 0, swatch.shape === "line" ? 12 : 6);
  const paint =
    `fill="${swatch.fill}" fill-opacity="${within(swatch.fillOpacity, 0, 1)}" stroke="${swatch.stroke}" ` +
    `stroke-opacity="${within(swatch.strokeOpacity, 0, 1)}" stroke-width="${strokeWidth}" stroke-linejoin="round" stroke-linecap="round"`;
  const inset = 3 + strokeWidth / 2;
  const side = 32 - 2 * inset;
  const shape = {
    point: `<circle cx="16" cy="16" r="${within(swatch.size, 4, 28 - strokeWidth) / 2}" ${paint}/>`,
    line: `<path d="M4 24 L12 10 L20 20 L28 8" ${paint}/>`,
    area: `<rect x="${inset}" y="${inset}" width="${side}" height="${side}" rx="2" ${paint}/>`,
  }[swatch.shape];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">${shape}</svg>`;
}
