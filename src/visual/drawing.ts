import type { LayerNode } from "../catalog/state.js";
import { mercatorHalf } from "../geo/tile.js";
import type { Rule, Style, Symbolizer } from "../style/model.js";
import { type SymbolShape, shapeOf } from "../style/symbol.js";
import type { Settings } from "./columns.js";
import { darker, lighter } from "./shades.js";
import type { ValueContext } from "./value-sql.js";

/** How visualizations are drawn: styles over columns that SQL computes for each object, or for each shape of a chart. */

export interface Fill {
  /** Which objects have it. */
  readonly filter: string;
  /** As `#RRGGBB`. */
  readonly color: string;
  readonly opacity: number;
}

export interface VisualDrawing {
  readonly styles: readonly Style[];
  /**
   * What is drawn: the objects themselves, or a point on each of them. Further columns have names that end in `$`, which no
   * column of a layer does.
   */
  readonly place: "object" | "point";
  /** SQL of further columns by name, over the table `o$`. */
  readonly columns: (context: ValueContext) => Readonly<Record<string, string>>;
  /** Of these columns, those that have to have a value. */
  readonly needed: readonly string[];
  /** Order of drawing, as SQL; default: by id. */
  readonly order?: string;
  /** Of points on one pixel with the same value of this column, one is enough at low zooms. */
  readonly thinnedBy?: string;
  /**
   * SQL of what is drawn in place of the objects, with columns `svc_id` and `geom$`.
   * @param objects name of a relation: `svc_id`, `geom$` and the further columns
   */
  readonly shapes?: (objects: string) => string;
  /**
   * As `shapes`, where one stands for several objects, for finding these: with columns `size$` (width in pixels), `ids$` (of
   * the objects) and `box$` (around them).
   */
  readonly shapesWithObjects?: (objects: string) => string;
  /** Labels, if the kind places them itself. */
  readonly labels?: Style;
  /** Half the width of the symbols of points, in pixels or as an expression of Mapnik: labels stand beside them. */
  readonly beside?: string;
  /** What areas are filled with, on which their labels stand. */
  readonly fills?: readonly Fill[];
  /** How far symbols extend from their object, or other objects decide about them, in unscaled pixels. */
  readonly reach: number;
}

/** SQL of the metres of EPSG:3857 in a pixel of an unscaled tile; by Mapnik's token, as one plan serves several zooms. */
export const pixelMetres = "(!scale_denominator! * 0.00028)::float8";

/**
 * SQL of the width of the columns of a grid around the world that is the same in each copy of it: as many as fit into each
 * half. @param metres SQL of the least width
 */
export const evenWidth = (metres: string): string =>
  `${mercatorHalf} / greatest(1, floor(${mercatorHalf} / (${metres})))`;

/** Larger symbols would need too much of their surroundings for each tile. */
export const maxSize = 256;
export const bounded = (size: unknown): number => Math.min(maxSize, Math.max(0, Number(size)));

export const array = (numbers: readonly number[], type: "float8" | "int"): string =>
  `'{${numbers.join(",")}}'::${type}[]`;

/** What the symbol of an item of a legend shows. */
export interface ClassSymbol {
  readonly symbolizers: readonly Symbolizer[];
  readonly shape: SymbolShape;
  /** As that of a `SymbolDrawing`. */
  readonly side?: number;
}

export const symbolizer = (
  type: Symbolizer["type"],
  attributes: Readonly<Record<string, string | number | boolean | undefined>>,
): Symbolizer => ({
  type,
  attributes: Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
  ),
});

export const styleOf = (
  name: string,
  rules: readonly Rule[],
  attributes: Readonly<Record<string, string>> = {},
): Style => ({ name, attributes, rules });

/** Lengths of dashes and gaps by the names that drawing programs give them, in widths of the line. */
const namedDashes = new Map([
  ["dash", [4, 2]],
  ["dashed", [4, 2]],
  ["dot", [1, 1.5]],
  ["dotted", [1, 1.5]],
  ["dashdot", [4, 2, 1, 2]],
  ["dash-dot", [4, 2, 1, 2]],
]);
/** Thinner lines have the dashes of this width. */
const leastDashedWidth = 2;

/**
 * Dashes by their names, which grow with the line, or as lengths in pixels such as `4 2`; others are solid lines. Ends are
 * flat: round ones reach into the gaps by half the width, and fill them.
 */
function dashed(pattern: unknown, width: number): { readonly "stroke-dasharray"?: string } {
  const text = String(pattern).trim().toLowerCase();
  const lengths = text.split(/[\s,]+/);
  const given = lengths.length > 1 && lengths.length <= 8 && lengths.every((each) => /^\d{1,3}$/.test(each));
  const dashes =
    namedDashes.get(text)?.map((each) => each * Math.max(width, leastDashedWidth)) ??
    (given && lengths.some((each) => Number(each) > 0) ? lengths : undefined);
  return dashes ? { "stroke-dasharray": dashes.join(",") } : {};
}

/** The border that all kinds have, as attributes of lines. */
export function borderOf(
  settings: Settings,
): Readonly<Record<string, string | number | undefined>> | undefined {
  const { width, color, opacity, pattern } = settings.borderSettings as Settings;
  if (!settings.showBorder || Number(width) === 0) return undefined;
  return {
    stroke: color as string,
    "stroke-width": bounded(width),
    "stroke-opacity": opacity as number,
    "stroke-linejoin": "round",
    ...dashed(pattern, bounded(width)),
  };
}

/** A marker with the settings' border; markers have no dashes. */
export function marker(
  settings: Settings,
  look: { readonly fill: unknown; readonly opacity: unknown; readonly size: number | string },
): Symbolizer {
  const border = borderOf(settings);
  const { allowOverlap } = settings.pointSettings as Settings;
  return symbolizer("MarkersSymbolizer", {
    width: look.size,
    height: look.size,
    fill: look.fill as string,
    "fill-opacity": look.opacity as number,
    stroke: border?.stroke,
    "stroke-width": border?.["stroke-width"] ?? 0,
    "stroke-opacity": border?.["stroke-opacity"],
    placement: "interior",
    "multi-policy": "each",
    "allow-overlap": allowOverlap === true,
    "ignore-placement": allowOverlap === true,
  });
}

/** Size in pixels of a picture that styles of the project may show; undefined = there is none of that name. */
export type FindPicture = (name: string) => { readonly width: number; readonly height: number } | undefined;

/** A picture in place of a marker. */
export interface MarkerPicture {
  readonly name: string;
  /** Its longer side in pixels. */
  readonly side: number;
}

/** The icon of a class, or of bubbles, where it is wanted and there; else they have plain markers. */
export function iconOf({ useIcon, icon }: Settings, find: FindPicture): MarkerPicture | undefined {
  if (useIcon !== true || icon === "") return undefined;
  const path = String(icon);
  for (const name of [path, path.replace(/^\/+/, "")]) {
    const picture = find(name);
    if (picture) return { name, side: Math.max(picture.width, picture.height, 1) };
  }
  return undefined;
}

/**
 * @param look.size of its longer side: a number, or an expression of Mapnik
 * @param look.color of icons of the installation, which are of one colour; other pictures keep theirs
 */
export function pictureMarker(
  settings: Settings,
  look: {
    readonly picture: MarkerPicture;
    readonly color: unknown;
    readonly opacity: unknown;
    readonly size: number | string;
  },
): Symbolizer {
  const { allowOverlap } = settings.pointSettings as Settings;
  const { name, side } = look.picture;
  return {
    ...symbolizer("MarkersSymbolizer", {
      fill: name.startsWith("icon:") ? (look.color as string) : undefined,
      opacity: look.opacity as number,
      // A width would hold for pictures of shapes only.
      transform: `scale(${typeof look.size === "number" ? look.size / side : `${look.size}/${side}`})`,
      placement: "interior",
      "multi-policy": "each",
      "allow-overlap": allowOverlap === true,
      "ignore-placement": allowOverlap === true,
    }),
    picture: name,
  };
}

/**
 * SQL of the class of a value, from 0, by the same borders as the statistics: a class includes its upper border.
 * @param value SQL of a number; undefined = none
 */
export function classSql(value: string | undefined, breaks: readonly number[]): string {
  if (value === undefined || breaks.length < 2) return "null::int";
  const inner = breaks.slice(1, -1);
  const negated = inner.map((each) => -each).reverse();
  return `${inner.length} - width_bucket(-(${value}), ${array(negated, "float8")})`;
}

/** Default width of a point's marker. */
const pointSize = 10;

/** The symbol of a class on the layer's kind of geometry; on a point where it may be any. */
export function classSymbol(
  layer: LayerNode,
  settings: Settings,
  look: Omit<Parameters<typeof classRules>[2], "filter">,
): ClassSymbol {
  const geometryKind = layer.geometryKind === "Unknown" ? "Point" : layer.geometryKind;
  const rules = classRules({ ...layer, geometryKind }, settings, { ...look, filter: "true" });
  return {
    symbolizers: rules.flatMap(({ symbolizers }) => symbolizers),
    shape: shapeOf([], geometryKind, undefined),
  };
}

/** The rules for objects of one class, by the kinds of geometry that the layer may have. */
export function classRules(
  layer: LayerNode,
  settings: Settings,
  look: {
    readonly filter: string;
    readonly color: unknown;
    readonly classes: Settings;
    /** Of points. */
    readonly icon?: MarkerPicture | undefined;
    /** Told from the others by more than the colour: areas hatched, lines dashed, points rings. */
    readonly hatched?: boolean;
  },
): Rule[] {
  const { opacity } = look.classes;
  const { hatched = false } = look;
  const ground = hatched ? lighter({ color: String(look.color) }) : (look.color as string);
  const strong = hatched ? darker({ color: String(look.color) }) : (look.color as string);
  const lineWidth = bounded(look.classes.lineWidth);
  const pattern = dashed(hatched ? "dash" : look.classes.linePattern, lineWidth);
  const points = settings.pointSettings as Settings;
  const border = borderOf(settings);
  const symbols = {
    Point: [
      look.icon
        ? pictureMarker(settings, {
            picture: look.icon,
            color: look.color,
            opacity,
            size: iconSize(settings, look.icon),
          })
        : ringed(
            marker(settings, {
              fill: ground,
              opacity,
              size: points.sizeEnabled ? bounded(points.size) : pointSize,
            }),
            hatched ? strong : undefined,
          ),
    ],
    LineString: [
      symbolizer("LineSymbolizer", {
        stroke: strong,
        "stroke-width": lineWidth,
        "stroke-opacity": opacity as number,
        "stroke-linejoin": "round",
        "stroke-linecap": pattern["stroke-dasharray"] === undefined ? "round" : "butt",
        ...pattern,
      }),
    ],
    Polygon: [
      symbolizer("PolygonSymbolizer", { fill: ground, "fill-opacity": opacity as number }),
      ...(hatched ? [hatching(opacity)] : []),
      ...(border ? [symbolizer("LineSymbolizer", border)] : []),
    ],
  };
  if (layer.geometryKind !== "Unknown")
    return [{ filter: look.filter, symbolizers: symbols[layer.geometryKind] }];
  return [symbols.Point, symbols.LineString, symbols.Polygon].map((symbolizers, at) => ({
    filter: `(${look.filter}) and ([mapnik::geometry_type]=${at + 1})`,
    symbolizers,
  }));
}

/** One pattern over all objects, which neighbouring tiles continue. */
const hatching = (opacity: unknown): Symbolizer => ({
  ...symbolizer("PolygonPatternSymbolizer", { opacity: opacity as number, alignment: "global" }),
  picture: "icon:hatching",
});

/** With a rim of this colour in place of its own; undefined = as it is. */
export const ringed = (circle: Symbolizer, color: string | undefined): Symbolizer =>
  color === undefined
    ? circle
    : {
        ...circle,
        attributes: { ...circle.attributes, stroke: color, "stroke-width": "1", "stroke-opacity": "1" },
      };

/** Side of an icon: that of points where it is set, else its own. */
const iconSize = (settings: Settings, { side }: MarkerPicture): number => {
  const points = settings.pointSettings as Settings;
  return points.sizeEnabled ? bounded(points.size) : bounded(side);
};

/** Half the width of the points that `classRules` draws, at most. */
export function halfOfPoints(settings: Settings, icons: readonly (MarkerPicture | undefined)[] = []): string {
  const points = settings.pointSettings as Settings;
  const sizes = icons.flatMap((icon) => (icon ? [iconSize(settings, icon)] : []));
  return String(Math.max(points.sizeEnabled ? bounded(points.size) : pointSize, ...sizes) / 2);
}

/** How far markers, icons and lines of `classRules` extend. */
export function classReach(
  settings: Settings,
  classes: Settings,
  icons: readonly (MarkerPicture | undefined)[] = [],
): number {
  const points = settings.pointSettings as Settings;
  const border = Number((settings.borderSettings as Settings).width);
  const sizes = icons.map((icon) => (icon ? Math.SQRT2 * iconSize(settings, icon) : 0));
  const size = Math.max(points.sizeEnabled ? bounded(points.size) : pointSize, ...sizes);
  return Math.max(size / 2, bounded(classes.lineWidth)) + bounded(border) + 2;
}
