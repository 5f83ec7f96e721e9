import type { GeometryKind } from "../geo/wkb.js";
import type { SymbolRequest } from "../hosts/messages.js";
import { bufferPixelsOf } from "./buffer-size.js";
import { mapSource } from "./mapnik-xml.js";
import type { CompiledStyle, DrawnRule, Style, Symbolizer } from "./model.js";

/** The symbol of a class in a legend, as the renderer draws it on a made-up object. */

export interface SymbolDrawing {
  /** Rules without filters and zooms; their pictures are files already. */
  readonly styles: readonly Style[];
  /** Values of the object by the names that the rules have for them. */
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
  readonly shape: SymbolShape;
  /** Unscaled pixels a side, for symbols whose sizes are compared; absent = as the symbol needs. */
  readonly side?: number;
}

export type SymbolShape = "point" | "line" | "area";

/** Unscaled pixels a side of a symbol; larger markers and thicker lines get more, up to the greatest. */
const [leastSide, greatestSide] = [32, 128] as const;

/**
 * In a legend, where 32 of its pixels are drawn on about 20, small markers and thin lines would be specks. Those below `until`
 * are larger, from `least` on, and larger ones stay larger than smaller ones: classes may differ by their sizes alone.
 */
const growths = [
  { types: ["MarkersSymbolizer", "DotSymbolizer"], least: 6, until: 10 },
  { types: ["LineSymbolizer"], least: 1.2, until: 2 },
] as const;

/** The shape that symbolizers are shown on. @param geometryType as Mapnik numbers them, where a filter tells it */
export function shapeOf(
  styles: readonly Style[],
  kind: GeometryKind,
  geometryType: number | undefined,
): SymbolShape {
  const told = (["point", "line", "area"] as const)[(geometryType ?? 0) - 1];
  if (told) return told;
  if (kind !== "Unknown") return ({ Point: "point", LineString: "line", Polygon: "area" } as const)[kind];
  const has = (...types: Symbolizer["type"][]) =>
    styles.some(({ rules }) =>
      rules.some((rule) => rule.symbolizers.some(({ type }) => types.includes(type))),
    );
  if (has("PolygonSymbolizer", "PolygonPatternSymbolizer", "BuildingSymbolizer")) return "area";
  return has("LineSymbolizer", "LinePatternSymbolizer") ? "line" : "point";
}

/** Of three letters, in pixels of the font: they fill the least side. */
const largestLabel = 14;

/** What is drawn of an object of a class: rules without filters and zooms. */
export const drawnStyles = (styles: readonly Style[], drawn: readonly DrawnRule[]): Style[] =>
  drawn.flatMap(([style, rule, from]) => {
    const { name, attributes, rules } = styles[style]!;
    return { name, attributes, rules: [{ symbolizers: rules[rule]!.symbolizers.slice(from) }] };
  });

/** What the render host draws. @param size of the image in pixels a side */
export function symbolRequest(
  { styles, values, shape, ...given }: SymbolDrawing,
  size: number,
): SymbolRequest {
  const side = given.side ?? sideOf(styles);
  const scale = size / side;
  const label = labelIn(styles);
  // Symbols of a given side are true to scale.
  const growth = given.side === undefined ? growthIn(styles, side / leastSide) : () => 1;
  const drawn = styles.map((style) => ({
    ...style,
    rules: style.rules.map(({ symbolizers }) => ({
      symbolizers: symbolizers.flatMap((one) =>
        one.type === "TextSymbolizer"
          ? label(one)
          : rounder(enlarged(one, growth(one)), Math.max(1, Math.ceil(scale))),
      ),
    })),
  }));
  const style: CompiledStyle = { styles: drawn, fields: [], bufferPixels: side };
  const feature = { type: "Feature", geometry: geometryOf(shape, side), properties: values };
  const inline = JSON.stringify({ type: "FeatureCollection", features: [feature] });
  const layers = [{ name: "symbol", style, datasource: { type: "geojson", inline } }];
  return {
    map: mapSource({ properties: {}, layers, bufferSize: Math.ceil(side * scale) }),
    extent: [0, 0, side, side],
    size,
    scale,
  };
}

/** Labels beside something else would be cut by the edges and hide it; those that are all there is stand in the middle. */
function labelIn(styles: readonly Style[]): (label: Symbolizer) => readonly Symbolizer[] {
  const isAll = styles.every(({ rules }) =>
    rules.every(({ symbolizers }) => symbolizers.every(({ type }) => type === "TextSymbolizer")),
  );
  if (!isAll) return () => [];
  return (label) => {
    const { dx: _, dy: __, size = "10", ...attributes } = label.attributes;
    const fitting = Number.isNaN(Number(size)) ? "10" : String(Math.min(largestLabel, Number(size)));
    return [{ ...label, attributes: { ...attributes, size: fitting, placement: "interior" } }];
  };
}

/** How many times larger each symbolizer is drawn: all of a kind alike, so that outlines and casings keep their share. */
function growthIn(styles: readonly Style[], unit: number): (symbolizer: Symbolizer) => number {
  const all = styles.flatMap(({ rules }) => rules.flatMap(({ symbolizers }) => symbolizers));
  const times = new Map<Symbolizer["type"], number>();
  // Beside a fill a line is its border, which need not be seen by itself.
  const isFilled = all.some(
    ({ type }) => type === "PolygonSymbolizer" || type === "PolygonPatternSymbolizer",
  );
  for (const { types, least, until } of growths) {
    const ofKind = all.filter(
      ({ type }) => types.some((one) => one === type) && !(isFilled && type === "LineSymbolizer"),
    );
    const largest = Math.max(0, ...ofKind.map(extentOf)) / unit;
    if (largest === 0 || largest >= until) continue;
    for (const type of types) times.set(type, (least + (1 - least / until) * largest) / largest);
  }
  return ({ type }) => times.get(type) ?? 1;
}

/** Its width with its outline; 0 = it is not known. */
function extentOf(symbolizer: Symbolizer): number {
  const { width = 0, height = 0, "stroke-width": stroke = 0 } = sizesOf(symbolizer) ?? {};
  return Math.max(width, height) + stroke;
}

/** Attributes that say how large a disc is, or how wide a line; undefined where that is told by an object or a picture. */
function sizesOf({ type, attributes, picture }: Symbolizer): Readonly<Record<string, number>> | undefined {
  if (attributes.file !== undefined || picture !== undefined) return undefined;
  const { width, height = width, "stroke-width": stroke } = attributes;
  const texts = {
    MarkersSymbolizer: { width: width ?? "10", height: height ?? "10", "stroke-width": stroke ?? "0.5" },
    DotSymbolizer: { width: width ?? "1", height: height ?? "1" },
    LineSymbolizer: { "stroke-width": stroke ?? "1" },
  }[type as string];
  const sizes = Object.entries(texts ?? {}).map(([name, text]) => [name, Number(text)] as const);
  return texts && !sizes.some(([, size]) => Number.isNaN(size)) ? Object.fromEntries(sizes) : undefined;
}

function enlarged(symbolizer: Symbolizer, times: number): Symbolizer {
  const sizes = times === 1 ? undefined : sizesOf(symbolizer);
  if (!sizes) return symbolizer;
  const larger = Object.entries(sizes).map(([name, size]) => [name, String(size * times)]);
  return { ...symbolizer, attributes: { ...symbolizer.attributes, ...Object.fromEntries(larger) } };
}

/** Mapnik draws discs with as few corners as their own size needs: a larger one is drawn smaller. */
function rounder(symbolizer: Symbolizer, times: number): Symbolizer {
  if (symbolizer.type !== "MarkersSymbolizer" || !sizesOf(symbolizer)) return symbolizer;
  const { attributes, ...rest } = enlarged(symbolizer, times);
  const transform = `${attributes.transform ?? ""} scale(${1 / times})`.trim();
  return { ...rest, attributes: { ...attributes, transform } };
}

/** Labels are cut rather than that all else becomes small. */
function sideOf(styles: readonly Style[]): number {
  const symbols = styles.map((style) => ({
    ...style,
    rules: style.rules.map(({ symbolizers }) => ({
      symbolizers: symbolizers.filter(({ type }) => type !== "TextSymbolizer" && type !== "PointSymbolizer"),
    })),
  }));
  return Math.min(greatestSide, Math.max(leastSide, 2 * bufferPixelsOf(symbols) + 2));
}

/** In units of an unscaled pixel, y upwards. */
function geometryOf(shape: SymbolShape, side: number): object {
  const at = (x: number, y: number) => [(x * side) / 32, (y * side) / 32];
  switch (shape) {
    case "point":
      return { type: "Point", coordinates: at(16, 16) };
    case "line":
      return { type: "LineString", coordinates: [at(4, 8), at(12, 22), at(20, 12), at(28, 24)] };
    case "area":
      return { type: "Polygon", coordinates: [[at(4, 4), at(28, 4), at(28, 28), at(4, 28), at(4, 4)]] };
  }
}
