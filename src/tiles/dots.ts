import type { CompiledStyle, Rule, Symbolizer } from "../style/model.js";
import { isOpaqueMarker } from "./thinning.js";

/**
 * Round markers as dots, which Mapnik draws in less than half of the time: one of the whole size, and over it one without
 * the stroke. Only for single points.
 */

/** A picture of which nothing is seen, by its name in the folder of pictures. */
export const emptyPicture = {
  name: "empty.svg",
  content: `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1" fill="none"/></svg>`,
} as const;

/** What a marker may have for it. All else has to be there as Mapnik's own markers have it. */
const known: ReadonlySet<string> = new Set([
  "width",
  "height",
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "opacity",
  "allow-overlap",
  "ignore-placement",
  "marker-type",
]);

/** The style with dots in place of round opaque markers, where no label keeps clear of them. */
export const markersAsDots = (style: CompiledStyle): CompiledStyle => withDots(style, dotsOf);

/** The same where labels do: they see no dots, but a marker without colour that takes the room of each. */
export const markersAsDotsWithRoom = (style: CompiledStyle): CompiledStyle =>
  withDots(style, (marker) => {
    const dots = dotsOf(marker);
    return dots && marker.attributes["ignore-placement"] !== "true" ? [...dots, roomOf(dots[0])] : dots;
  });

const roomOf = ({ attributes: { width, height } }: Symbolizer): Symbolizer => ({
  type: "MarkersSymbolizer",
  attributes: { file: emptyPicture.name, width: width!, height: height!, "allow-overlap": "true" },
});

function withDots(
  style: CompiledStyle,
  dotsOf: (marker: Symbolizer) => readonly Symbolizer[] | undefined,
): CompiledStyle {
  if (!style.styles.some(({ rules }) => rules.some(({ symbolizers }) => symbolizers.some(dotsOf))))
    return style;
  const changed = (rule: Rule): Rule => ({
    ...rule,
    symbolizers: rule.symbolizers.flatMap((symbolizer) => dotsOf(symbolizer) ?? [symbolizer]),
  });
  return { ...style, styles: style.styles.map((one) => ({ ...one, rules: one.rules.map(changed) })) };
}

/** The dots of a marker, from the lower to the upper; undefined = it has to be a marker. */
function dotsOf(symbolizer: Symbolizer): readonly [Symbolizer, ...Symbolizer[]] | undefined {
  const { type, attributes } = symbolizer;
  if (type !== "MarkersSymbolizer" || !isOpaqueMarker(symbolizer)) return undefined;
  if (!Object.keys(attributes).every((name) => known.has(name))) return undefined;
  const { fill, stroke, height = attributes.width, "marker-type": shape = "ellipse" } = attributes;
  const width = Number(attributes.width);
  const strokeWidth = Number(attributes["stroke-width"] ?? "0.5");
  if (shape !== "ellipse" || fill === undefined || !(width > 0) || Number(height) !== width) return undefined;
  if (strokeWidth === 0) return [dot(width, fill)];
  const inner = width - strokeWidth;
  if (stroke === undefined || !(strokeWidth > 0) || !(inner > 0)) return undefined;
  return [dot(width + strokeWidth, stroke), dot(inner, fill)];
}

const dot = (width: number, fill: string): Symbolizer => ({
  type: "DotSymbolizer",
  attributes: { width: String(width), height: String(width), fill },
});
