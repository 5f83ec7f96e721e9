import type { SymbolizerType } from "./model.js";

/** What a style may hold: every property of CartoCSS that is passed on to Mapnik, with the range of its values. */

export type ValueRule =
  | {
      readonly kind: "number";
      readonly min: number;
      readonly max: number;
      readonly whole?: boolean;
      /** May be an expression over columns; Mapnik clamps its result to the range. */
      readonly expression?: boolean;
    }
  | { readonly kind: "keyword"; readonly values: readonly string[] }
  | { readonly kind: "boolean" | "color" | "dashes" | "transform" | "picture" | "face" | "text" }
  | { readonly kind: "placements" | "character" | "imageFilters" | "featureSettings" | "stops" }
  /** Checked, then left out. Without a rule anything is left out. */
  | { readonly kind: "ignored"; readonly value?: ValueRule };

export interface AllowedProperty {
  /** Name in Mapnik's XML. */
  readonly attribute: string;
  readonly value: ValueRule;
}
export type AllowedProperties = Readonly<Record<string, AllowedProperty>>;

const number = (min: number, max: number): ValueRule => ({ kind: "number", min, max });
const whole = (min: number, max: number): ValueRule => ({ kind: "number", min, max, whole: true });
/** A number, or an expression that gives one. */
const numberOrExpression = (min: number, max: number): ValueRule => ({
  kind: "number",
  min,
  max,
  expression: true,
});
const keyword = (...values: string[]): ValueRule => ({ kind: "keyword", values });
const boolean: ValueRule = { kind: "boolean" };
const color: ValueRule = { kind: "color" };
const picture: ValueRule = { kind: "picture" };
const transform: ValueRule = { kind: "transform" };

const opacity = numberOrExpression(0, 1);
const width = numberOrExpression(0, 256);
const displacement = numberOrExpression(-256, 256);

const compositeOperations = keyword(
  ...["clear", "src", "dst", "src-over", "dst-over", "src-in", "dst-in", "src-out", "dst-out", "src-atop"],
  ...["dst-atop", "xor", "plus", "minus", "multiply", "divide", "screen", "overlay", "darken", "lighten"],
  ...["color-dodge", "color-burn", "linear-dodge", "linear-burn", "hard-light", "soft-light", "difference"],
  ...["exclusion", "contrast", "invert", "invert-rgb", "grain-merge", "grain-extract", "hue", "saturation"],
  ...["color", "value"],
);
const gammaMethods = keyword("power", "linear", "none", "threshold", "multiply");
const joins = keyword("miter", "miter-revert", "round", "bevel");
const caps = keyword("butt", "round", "square");
const verticalAlignments = keyword("top", "middle", "bottom", "auto");
const horizontalAlignments = keyword("left", "middle", "right", "auto", "adjust");
const justifications = keyword("left", "right", "center", "auto");
const textTransforms = keyword("none", "uppercase", "lowercase", "capitalize", "reverse");
/** `grid` and `alternating-grid` are left out: their cost grows without bound with small cells. */
const labelPlacements = keyword("point", "line", "vertex", "interior");

/** Properties that change the geometry before it is drawn. All symbolizers have them, each with its prefix. */
const geometry = (prefix: string): AllowedProperties => ({
  [`${prefix}-clip`]: { attribute: "clip", value: boolean },
  [`${prefix}-simplify`]: { attribute: "simplify", value: number(0, 100) },
  [`${prefix}-simplify-algorithm`]: {
    attribute: "simplify-algorithm",
    value: keyword("radial-distance", "zhao-saalfeld", "visvalingam-whyatt", "douglas-peucker"),
  },
  [`${prefix}-smooth`]: { attribute: "smooth", value: number(0, 1) },
  [`${prefix}-comp-op`]: { attribute: "comp-op", value: compositeOperations },
});
const geometryTransform = (prefix: string): AllowedProperties => ({
  [`${prefix}-geometry-transform`]: { attribute: "geometry-transform", value: transform },
});

/** How a label looks and where it may stand: texts and shields. */
const label = (prefix: string): AllowedProperties => ({
  [`${prefix}-name`]: { attribute: "name", value: { kind: "text" } },
  [`${prefix}-face-name`]: { attribute: "face-name", value: { kind: "face" } },
  [`${prefix}-size`]: { attribute: "size", value: numberOrExpression(1, 256) },
  [`${prefix}-fill`]: { attribute: "fill", value: color },
  [`${prefix}-placement`]: { attribute: "placement", value: labelPlacements },
  [`${prefix}-placement-type`]: { attribute: "placement-type", value: keyword("dummy", "simple") },
  [`${prefix}-placements`]: { attribute: "placements", value: { kind: "placements" } },
  [`${prefix}-avoid-edges`]: { attribute: "avoid-edges", value: boolean },
  [`${prefix}-allow-overlap`]: { attribute: "allow-overlap", value: boolean },
  [`${prefix}-margin`]: { attribute: "margin", value: number(0, 1000) },
  [`${prefix}-repeat-distance`]: { attribute: "repeat-distance", value: number(0, 5000) },
  [`${prefix}-min-distance`]: { attribute: "minimum-distance", value: number(0, 5000) },
  [`${prefix}-min-padding`]: { attribute: "minimum-padding", value: number(0, 1000) },
  [`${prefix}-spacing`]: { attribute: "spacing", value: number(0, 10_000) },
  [`${prefix}-label-position-tolerance`]: { attribute: "label-position-tolerance", value: number(0, 1000) },
  [`${prefix}-wrap-width`]: { attribute: "wrap-width", value: whole(0, 2000) },
  [`${prefix}-wrap-before`]: { attribute: "wrap-before", value: boolean },
  [`${prefix}-wrap-character`]: { attribute: "wrap-character", value: { kind: "character" } },
  [`${prefix}-halo-fill`]: { attribute: "halo-fill", value: color },
  [`${prefix}-halo-radius`]: { attribute: "halo-radius", value: numberOrExpression(0, 16) },
  [`${prefix}-halo-rasterizer`]: { attribute: "halo-rasterizer", value: keyword("full", "fast") },
  [`${prefix}-halo-opacity`]: { attribute: "halo-opacity", value: opacity },
  [`${prefix}-character-spacing`]: { attribute: "character-spacing", value: number(-16, 100) },
  [`${prefix}-line-spacing`]: { attribute: "line-spacing", value: number(-64, 256) },
  [`${prefix}-horizontal-alignment`]: { attribute: "horizontal-alignment", value: horizontalAlignments },
  [`${prefix}-vertical-alignment`]: { attribute: "vertical-alignment", value: verticalAlignments },
  [`${prefix}-offset`]: { attribute: "offset", value: number(-256, 256) },
});

/** Properties by symbolizer, in CartoCSS's names. */
export const allowedSymbolizers: Readonly<Record<SymbolizerType, AllowedProperties>> = {
  PolygonSymbolizer: {
    "polygon-fill": { attribute: "fill", value: color },
    "polygon-opacity": { attribute: "fill-opacity", value: opacity },
    "polygon-gamma": { attribute: "gamma", value: number(0, 10) },
    "polygon-gamma-method": { attribute: "gamma-method", value: gammaMethods },
    ...geometry("polygon"),
    ...geometryTransform("polygon"),
  },
  LineSymbolizer: {
    "line-color": { attribute: "stroke", value: color },
    "line-width": { attribute: "stroke-width", value: width },
    "line-opacity": { attribute: "stroke-opacity", value: opacity },
    "line-join": { attribute: "stroke-linejoin", value: joins },
    "line-cap": { attribute: "stroke-linecap", value: caps },
    "line-gamma": { attribute: "stroke-gamma", value: number(0, 10) },
    "line-gamma-method": { attribute: "stroke-gamma-method", value: gammaMethods },
    "line-dasharray": { attribute: "stroke-dasharray", value: { kind: "dashes" } },
    "line-dash-offset": { attribute: "stroke-dashoffset", value: number(-1000, 1000) },
    "line-miterlimit": { attribute: "stroke-miterlimit", value: number(1, 64) },
    "line-offset": { attribute: "offset", value: displacement },
    "line-rasterizer": { attribute: "rasterizer", value: keyword("full", "fast") },
    ...geometry("line"),
    ...geometryTransform("line"),
  },
  MarkersSymbolizer: {
    "marker-file": { attribute: "file", value: picture },
    "marker-opacity": { attribute: "opacity", value: opacity },
    "marker-fill": { attribute: "fill", value: color },
    "marker-fill-opacity": { attribute: "fill-opacity", value: opacity },
    "marker-line-color": { attribute: "stroke", value: color },
    "marker-line-width": { attribute: "stroke-width", value: width },
    "marker-line-opacity": { attribute: "stroke-opacity", value: opacity },
    "marker-placement": {
      attribute: "placement",
      value: keyword("point", "line", "interior", "vertex-first", "vertex-last"),
    },
    "marker-multi-policy": { attribute: "multi-policy", value: keyword("each", "whole", "largest") },
    "marker-type": { attribute: "marker-type", value: keyword("ellipse", "arrow") },
    "marker-width": { attribute: "width", value: width },
    "marker-height": { attribute: "height", value: width },
    "marker-allow-overlap": { attribute: "allow-overlap", value: boolean },
    "marker-avoid-edges": { attribute: "avoid-edges", value: boolean },
    "marker-ignore-placement": { attribute: "ignore-placement", value: boolean },
    "marker-spacing": { attribute: "spacing", value: number(1, 10_000) },
    "marker-max-error": { attribute: "max-error", value: number(0.01, 100) },
    "marker-transform": { attribute: "transform", value: transform },
    "marker-offset": { attribute: "offset", value: number(-256, 256) },
    "marker-direction": {
      attribute: "direction",
      value: keyword("auto", "auto-down", "left", "right", "left-only", "right-only", "up", "down"),
    },
    ...geometry("marker"),
    ...geometryTransform("marker"),
  },
  TextSymbolizer: {
    ...label("text"),
    "text-transform": { attribute: "text-transform", value: textTransforms },
    // Mapnik 4 has these only for texts.
    "text-halo-comp-op": { attribute: "halo-comp-op", value: compositeOperations },
    "text-halo-transform": { attribute: "halo-transform", value: transform },
    "text-opacity": { attribute: "opacity", value: opacity },
    "text-ratio": { attribute: "text-ratio", value: whole(0, 1000) },
    "text-repeat-wrap-character": { attribute: "repeat-wrap-character", value: boolean },
    "text-max-char-angle-delta": { attribute: "max-char-angle-delta", value: number(0, 360) },
    "text-dx": { attribute: "dx", value: displacement },
    "text-dy": { attribute: "dy", value: displacement },
    "text-min-path-length": { attribute: "minimum-path-length", value: number(0, 10_000) },
    "text-orientation": { attribute: "orientation", value: numberOrExpression(-3600, 3600) },
    "text-rotate-displacement": { attribute: "rotate-displacement", value: boolean },
    "text-upright": {
      attribute: "upright",
      value: keyword("auto", "auto-down", "left", "right", "left-only", "right-only"),
    },
    "text-align": { attribute: "justify-alignment", value: justifications },
    "text-font-feature-settings": { attribute: "font-feature-settings", value: { kind: "featureSettings" } },
    "text-largest-bbox-only": { attribute: "largest-bbox-only", value: boolean },
    ...geometry("text"),
  },
  ShieldSymbolizer: {
    ...label("shield"),
    "shield-file": { attribute: "file", value: picture },
    "shield-text-transform": { attribute: "text-transform", value: textTransforms },
    "shield-unlock-image": { attribute: "unlock-image", value: boolean },
    "shield-text-dx": { attribute: "dx", value: displacement },
    "shield-text-dy": { attribute: "dy", value: displacement },
    "shield-dx": { attribute: "shield-dx", value: displacement },
    "shield-dy": { attribute: "shield-dy", value: displacement },
    "shield-opacity": { attribute: "opacity", value: opacity },
    "shield-text-opacity": { attribute: "text-opacity", value: opacity },
    "shield-justify-alignment": { attribute: "justify-alignment", value: justifications },
    "shield-transform": { attribute: "transform", value: transform },
    ...geometry("shield"),
  },
  LinePatternSymbolizer: {
    "line-pattern-type": { attribute: "line-pattern", value: keyword("warp", "repeat") },
    "line-pattern-file": { attribute: "file", value: picture },
    "line-pattern-opacity": { attribute: "opacity", value: opacity },
    "line-pattern-offset": { attribute: "offset", value: number(-256, 256) },
    "line-pattern-transform": { attribute: "transform", value: transform },
    "line-pattern-alignment": { attribute: "alignment", value: keyword("global", "local") },
    "line-pattern-width": { attribute: "stroke-width", value: number(0, 256) },
    "line-pattern-cap": { attribute: "stroke-linecap", value: caps },
    "line-pattern-join": { attribute: "stroke-linejoin", value: joins },
    "line-pattern-miterlimit": { attribute: "stroke-miterlimit", value: number(1, 64) },
    "line-pattern-dasharray": { attribute: "stroke-dasharray", value: { kind: "dashes" } },
    ...geometry("line-pattern"),
    ...geometryTransform("line-pattern"),
  },
  PolygonPatternSymbolizer: {
    "polygon-pattern-file": { attribute: "file", value: picture },
    "polygon-pattern-alignment": { attribute: "alignment", value: keyword("global", "local") },
    "polygon-pattern-gamma": { attribute: "gamma", value: number(0, 10) },
    "polygon-pattern-opacity": { attribute: "opacity", value: opacity },
    "polygon-pattern-transform": { attribute: "transform", value: transform },
    ...geometry("polygon-pattern"),
    ...geometryTransform("polygon-pattern"),
  },
  PointSymbolizer: {
    "point-file": { attribute: "file", value: picture },
    "point-allow-overlap": { attribute: "allow-overlap", value: boolean },
    "point-ignore-placement": { attribute: "ignore-placement", value: boolean },
    "point-opacity": { attribute: "opacity", value: opacity },
    "point-placement": { attribute: "placement", value: keyword("centroid", "interior") },
    "point-transform": { attribute: "transform", value: transform },
    "point-comp-op": { attribute: "comp-op", value: compositeOperations },
  },
  BuildingSymbolizer: {
    "building-fill": { attribute: "fill", value: color },
    "building-fill-opacity": { attribute: "fill-opacity", value: opacity },
    "building-height": { attribute: "height", value: numberOrExpression(0, 1000) },
  },
  RasterSymbolizer: {
    "raster-opacity": { attribute: "opacity", value: number(0, 1) },
    "raster-filter-factor": { attribute: "filter-factor", value: number(-1, 16) },
    "raster-scaling": {
      attribute: "scaling",
      value: keyword(
        ...["near", "bilinear", "bicubic", "spline16", "spline36", "hanning", "hamming", "hermite"],
        ...["kaiser", "quadric", "catrom", "gaussian", "bessel", "mitchell", "sinc", "lanczos", "blackman"],
      ),
    },
    "raster-mesh-size": { attribute: "mesh-size", value: whole(1, 1024) },
    "raster-comp-op": { attribute: "comp-op", value: compositeOperations },
    "raster-colorizer-default-mode": {
      attribute: "default-mode",
      value: keyword("discrete", "linear", "exact"),
    },
    "raster-colorizer-default-color": { attribute: "default-color", value: color },
    "raster-colorizer-epsilon": { attribute: "epsilon", value: number(0, 1000) },
    "raster-colorizer-stops": { attribute: "stop", value: { kind: "stops" } },
  },
  DotSymbolizer: {
    "dot-fill": { attribute: "fill", value: color },
    "dot-opacity": { attribute: "opacity", value: opacity },
    "dot-width": { attribute: "width", value: width },
    "dot-height": { attribute: "height", value: width },
    "dot-comp-op": { attribute: "comp-op", value: compositeOperations },
  },
  DebugSymbolizer: {
    "debug-mode": { attribute: "mode", value: keyword("collision", "vertex") },
  },
};

/** Properties of a whole style (`::attachment`), not of one symbolizer. */
export const allowedStyle: AllowedProperties = {
  "image-filters": { attribute: "image-filters", value: { kind: "imageFilters" } },
  "image-filters-inflate": { attribute: "image-filters-inflate", value: boolean },
  "direct-image-filters": { attribute: "direct-image-filters", value: { kind: "imageFilters" } },
  "comp-op": { attribute: "comp-op", value: compositeOperations },
  opacity: { attribute: "opacity", value: number(0, 1) },
};

/** Properties of `Map { … }`. */
export const allowedMap: AllowedProperties = {
  "background-color": { attribute: "background-color", value: color },
  // The buffer is calculated from the symbolizers (buffer-size.ts).
  "buffer-size": { attribute: "buffer-size", value: { kind: "ignored", value: number(0, 1024) } },
  // Faces are those of the installation (fonts.ts).
  "font-directory": { attribute: "font-directory", value: { kind: "ignored" } },
};

/** Properties without effect, with what their author is told. */
export const noticesByProperty: ReadonlyMap<string, string> = new Map([
  ["font-directory", "font-directory is ignored: labels are drawn in the faces of this installation."],
]);

/** The whole-symbolizer properties that switch one off or draw it with its defaults: `polygon: none`. */
const allowedSwitches: readonly string[] = [
  ...["polygon", "line", "marker", "shield", "line-pattern", "polygon-pattern", "raster", "point", "text"],
  ...["building", "dot", "debug"],
];

/** Functions that values may call, by the kind of value that they make. Their results are checked after carto has evaluated them. */
export const functionsByKind = {
  color: [
    ...["rgb", "rgba", "hsl", "hsla", "hsluv", "hsluva", "hue", "saturation", "lightness", "alpha"],
    ...["huep", "saturationp", "lightnessp", "saturate", "desaturate", "lighten", "darken", "fadein"],
    ...["fadeout", "saturatep", "desaturatep", "lightenp", "darkenp", "fadeinp", "fadeoutp", "spin"],
    ...["spinp", "mix", "greyscale", "greyscalep"],
  ],
  stops: ["stop"],
  transform: ["matrix", "translate", "scale", "rotate", "skewX", "skewY"],
  imageFilters: [
    ...["agg-stack-blur", "emboss", "blur", "gray", "sobel", "edge-detect", "x-gradient", "y-gradient"],
    ...["invert", "sharpen", "color-blind-protanope", "color-blind-deuteranope", "color-blind-tritanope"],
    ...["colorize-alpha", "color-to-alpha", "scale-hsla"],
  ],
} as const satisfies Partial<Record<ValueRule["kind"], readonly string[]>>;
export const allowedFunctions: ReadonlySet<string> = new Set(Object.values(functionsByKind).flat());

/** Every property that a style may set. */
export const allowedProperties: ReadonlySet<string> = new Set([
  ...Object.values(allowedSymbolizers).flatMap((properties) => Object.keys(properties)),
  ...Object.keys(allowedStyle),
  ...Object.keys(allowedMap),
  ...allowedSwitches,
]);
