import type { GeometryKind } from "../geo/geometry-kind.js";

/** The CartoCSS of a new layer. */

/**
 * The colours that the layers of a map have in turn: Okabe and Ito's (2008), which the colour-blind tell apart too, without
 * the yellow, which is not seen on light ground. The blues come later, for areas of them look like water.
 */
const hues = ["#009e73", "#d55e00", "#0072b2", "#cc79a7", "#e69f00", "#4d4d4d", "#56b4e9"] as const;
export const hueCount = hues.length;

export interface DefaultLook {
  /** Place of the colour among those that layers have in turn, from 0. */
  readonly hue?: number | undefined;
  /** Whether labels never keep clear of its points, as of very many without names, or where nobody knows how near to each other they are. */
  readonly dense?: boolean | undefined;
  /** The lowest zoom at which the objects have room for symbols of full size; absent = not known. */
  readonly room?: number | undefined;
  readonly label?: Label | undefined;
}

export interface Label {
  /** Code of the column that names the objects. */
  readonly column: string;
  /** Zoom from which the labels have room. */
  readonly fromZoom: number;
  /** What the more important objects have more of: they are named before the others, and from lower zooms on. */
  readonly importance?: Importance | undefined;
}

export interface Importance {
  /** Code of a column of numbers. */
  readonly column: string;
  /** What one object in `rarity`, `rarity²` and so on has at least. */
  readonly least: readonly number[];
}
/** One zoom lower there is room for one label in four. */
export const rarity = 16;
const zoomsPerStep = 2;

/**
 * Sizes grow with the zoom: they are full where the objects have room, and less where they would merge. The full ones come first: symbols
 * in legends have them.
 */
interface Sizes {
  readonly hue: string;
  readonly dense: boolean;
  /** As in `DefaultLook`. */
  readonly room: number | undefined;
}

/** Rules for the zooms below some, the highest first; none for what is below all zooms. */
const below = (...steps: readonly (readonly [zoom: number, attributes: string])[]): string =>
  steps
    .filter(([zoom]) => zoom > 0)
    .map(([zoom, attributes]) => `\n  [zoom<${zoom}] { ${attributes} }`)
    .join("");

/** Labels of other layers keep clear of points, but not of very many, which would leave them no room. */
const point = ({ hue, dense, room }: Sizes): string => `  marker-width: 8;
  marker-fill: ${hue};
  marker-line-color: #ffffff;
  marker-line-width: 1;
  marker-allow-overlap: true;${dense ? "\n  marker-ignore-placement: true;" : ""}${
    room === undefined
      ? below([10, "marker-width: 6;"], [5, "marker-width: 5; marker-line-width: 0.75;"])
      : below(
          [room, "marker-width: 6; marker-line-width: 0.75;"],
          [room - 1, "marker-width: 4; marker-line-width: 0.5;"],
          [room - 2, "marker-width: 3; marker-line-width: 0;"],
          [room - 3, "marker-width: 2; marker-line-width: 0;"],
        )
  }`;
const line = ({ hue, room = 10 }: Sizes): string => `  line-color: ${hue};
  line-width: 2;
  line-join: round;
  line-cap: round;${below(
    [room, "line-width: 1.5;"],
    [room - 1, "line-width: 1;"],
    [room - 2, "line-width: 0.6;"],
    [room - 3, "line-width: 0.4;"],
  )}`;
const polygon = ({ hue, room = 7 }: Sizes): string => `  polygon-fill: ${hue};
  polygon-opacity: 0.25;
  line-color: ${hue};
  line-width: 1.2;
  line-join: round;${below([room, "line-width: 0.8;"], [room - 2, "line-width: 0.3;"])}`;

/** Of labels, in sizes of their text: longer ones have several lines. Those along lines have one. */
export const wrapWidths = { Point: 10, Polygon: 8 } as const;
const textSize = 10;

const text = (column: string): string => `  text-name: [${column}];
  text-face-name: "DejaVu Sans Book";
  text-size: ${textSize};
  text-fill: #333333;
  text-halo-fill: rgba(255, 255, 255, 0.85);
  text-halo-radius: 1.5;
  text-repeat-distance: 100;`;
/** Beside points, along lines and inside areas. */
const placements = {
  Point: `  text-placement-type: simple;
  text-placements: "E,W,N,S";
  text-dx: 6;
  text-dy: 6;
  text-wrap-width: ${textSize * wrapWidths.Point};
  text-wrap-before: true;`,
  LineString: `  text-placement: line;
  text-spacing: 400;
  text-max-char-angle-delta: 30;
  text-min-path-length: 40;
  text-margin: 3;`,
  Polygon: `  text-placement: interior;
  text-wrap-width: ${textSize * wrapWidths.Polygon};
  text-wrap-before: true;
  text-margin: 3;`,
} as const;

/** Pixels around the labels of the more important objects at zooms that have no room for all. */
const sparseMargin = 20;

const symbols = { Point: point, LineString: line, Polygon: polygon } as const;
/** From the lowest to the uppermost, with Mapnik's numbers of the types. */
const ofUnknown = [
  ["Polygon", 3],
  ["LineString", 2],
  ["Point", 1],
] as const;

const indent = (block: string): string => block.replaceAll(/^/gm, "  ");

/** The block of the kind; of several kinds, the blocks for each type of geometry. */
const byKind = (kind: GeometryKind, block: (kind: keyof typeof symbols) => string): string =>
  kind === "Unknown"
    ? ofUnknown
        .map(([of, type]) => `  ['mapnik::geometry_type'=${type}] {\n${indent(block(of))}\n  }`)
        .join("\n")
    : block(kind);

/** In a layer's own style every `#id` selects that layer. */
export function defaultStyle(
  kind: GeometryKind,
  { hue = 0, dense = false, room, label }: DefaultLook = {},
): string {
  const sizes = { hue: hues[hue % hueCount]!, dense, room };
  // Where points are too near to each other for all their names, some are named above them.
  const labelRoom = (of: keyof typeof symbols): string =>
    label && of === "Point" && !dense
      ? `\n  [zoom<${label.fromZoom}] { marker-ignore-placement: true; }`
      : "";
  const symbol = `#layer {\n${byKind(kind, (of) => symbols[of](sizes) + labelRoom(of))}\n}\n`;
  if (!label) return symbol;
  const { fromZoom, importance } = label;
  const names = (more: string) => byKind(kind, (of) => `${text(label.column)}\n${placements[of]}${more}`);
  // Of the greatest there would be as many as fit between each other, which nobody can read.
  const sparse = names(below([fromZoom, `text-margin: ${sparseMargin};`]));
  const first = importance?.least.map((least, index) => {
    const zoom = Math.max(0, fromZoom - zoomsPerStep * (index + 1));
    return `#layer::names${index + 1}[zoom>=${zoom}][${importance.column}>=${least}] {\n${sparse}\n}\n`;
  });
  return `${symbol}${(first ?? []).toReversed().join("")}#layer::names[zoom>=${fromZoom}] {\n${names("")}\n}\n`;
}

/** The place of the default colour that a style has; undefined = none. */
export function hueOf(css: string): number | undefined {
  const hue = hues.findIndex((one) => css.includes(one));
  return hue < 0 ? undefined : hue;
}

/**
 * The colour for one more layer: the first that none of the others has, else the one whose turn is longest ago.
 * @param styles those of the map's layers, the newest first
 */
export function nextHue(styles: readonly string[]): number {
  const recent = styles.map(hueOf);
  const ages = hues.map((_, hue) => (recent.includes(hue) ? recent.indexOf(hue) : Number.POSITIVE_INFINITY));
  return ages.indexOf(Math.max(...ages));
}
