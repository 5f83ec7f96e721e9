import type { GeometryKind } from "../geo/wkb.js";
import type { CompiledStyle, Rule, Symbolizer } from "./model.js";
import { constant } from "./scalars.js";

/** The symbol of a layer in a legend: a small image that shows how its style draws. */

export interface Swatch {
  readonly shape: "point" | "line" | "area";
  /** Colour, or "none". */
  readonly fill: string;
  readonly fillOpacity: number;
  readonly stroke: string;
  readonly strokeOpacity: number;
  /** Pixels of a tile. */
  readonly strokeWidth: number;
  /** Width of the marker in pixels of a tile. */
  readonly size: number;
}

/** Mapnik's defaults: grey areas, black lines, blue markers. */
const plain = { fillOpacity: 1, strokeOpacity: 1, strokeWidth: 1, size: 10 };
const grey: Swatch = { ...plain, shape: "area", fill: "#808080", stroke: "none" };

/** The swatch of a layer by its geometry kind. Rules without filters and zooms go before conditional ones. */
export function swatchOf(style: Pick<CompiledStyle, "styles">, kind: GeometryKind): Swatch {
  // carto puts the most specific rule of a style first.
  const rules = style.styles.flatMap((one) => one.rules.toReversed());
  const conditions = (rule: Rule) =>
    (rule.filter ? 2 : 0) +
    (rule.minScaleDenominator === undefined && rule.maxScaleDenominator === undefined ? 0 : 1);
  const ordered = rules.toSorted((one, other) => conditions(one) - conditions(other));
  const symbolizers = ordered.flatMap((rule) => rule.symbolizers);
  const first = (...types: Symbolizer["type"][]) => symbolizers.find(({ type }) => types.includes(type));
  const area = first("PolygonSymbolizer", "PolygonPatternSymbolizer", "BuildingSymbolizer");
  const line = first("LineSymbolizer", "LinePatternSymbolizer");
  const marker = first("MarkersSymbolizer", "PointSymbolizer", "ShieldSymbolizer", "DotSymbolizer");
  const label = first("TextSymbolizer");
  switch (kind) {
    case "Point":
      return marker ? markerSwatch(marker) : label ? labelSwatch(label) : grey;
    case "LineString":
      return line ? lineSwatch(line) : marker ? markerSwatch(marker) : grey;
    default:
      if (area) return areaSwatch(area, line);
      // In a layer of areas a line alone is the border of an unfilled area.
      if (line) return kind === "Polygon" ? { ...lineSwatch(line), shape: "area" } : lineSwatch(line);
      return marker ? markerSwatch(marker) : label ? labelSwatch(label) : grey;
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

const markerSwatch = (marker: Symbolizer): Swatch => ({
  shape: "point",
  fill: marker.attributes.fill ?? "#0000ff",
  fillOpacity: read(marker, "fill-opacity", read(marker, "opacity", 1)),
  stroke: marker.attributes.stroke ?? "none",
  strokeOpacity: read(marker, "stroke-opacity", read(marker, "opacity", 1)),
  strokeWidth: read(marker, "stroke-width", 0.5),
  size: read(marker, "width", read(marker, "height", plain.size)),
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

/** The swatch as an SVG of 32 × 32 units. It needs no escapes: colours were checked, the rest are numbers. */
export function swatchSvg(swatch: Swatch): string {
  const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));
  const strokeWidth = clamp(swatch.strokeWidth, 0, swatch.shape === "line" ? 12 : 6);
  const paint =
    `fill="${swatch.fill}" fill-opacity="${clamp(swatch.fillOpacity, 0, 1)}" stroke="${swatch.stroke}" ` +
    `stroke-opacity="${clamp(swatch.strokeOpacity, 0, 1)}" stroke-width="${strokeWidth}" stroke-linejoin="round" stroke-linecap="round"`;
  const inset = 3 + strokeWidth / 2;
  const side = 32 - 2 * inset;
  const shape = {
    point: `<circle cx="16" cy="16" r="${clamp(swatch.size, 4, 28 - strokeWidth) / 2}" ${paint}/>`,
    line: `<path d="M4 24 L12 10 L20 20 L28 8" ${paint}/>`,
    area: `<rect x="${inset}" y="${inset}" width="${side}" height="${side}" rx="2" ${paint}/>`,
  }[swatch.shape];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">${shape}</svg>`;
}
