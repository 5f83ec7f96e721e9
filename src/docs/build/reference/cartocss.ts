import { createRequire } from "node:module";
import {
  type AllowedProperties,
  allowedMap,
  allowedStyle,
  allowedSymbolizers,
  type ValueRule,
} from "../../../style/allowed.js";

/** The page of CartoCSS: properties and ranges from the style checker, what they do from Mapnik's reference. */

interface Described {
  readonly css?: string;
  readonly doc?: string;
  readonly "default-meaning"?: string;
  readonly "default-value"?: unknown;
}
type Group = Readonly<Record<string, Described>>;
interface MapnikReference {
  readonly versions: readonly string[];
  load(version: string): { readonly style: Group; readonly symbolizers: Readonly<Record<string, Group>> };
}

const titles: Readonly<Record<string, string>> = {
  PolygonSymbolizer: "Polygons",
  LineSymbolizer: "Lines",
  MarkersSymbolizer: "Markers of points",
  TextSymbolizer: "Labels",
  ShieldSymbolizer: "Labels on a picture",
  LinePatternSymbolizer: "Pictures along lines",
  PolygonPatternSymbolizer: "Pictures in polygons",
  PointSymbolizer: "Pictures at points",
  BuildingSymbolizer: "Buildings",
  RasterSymbolizer: "Rasters",
  DotSymbolizer: "Dots",
  DebugSymbolizer: "Finding faults",
};

/** What some properties do, by their names, where the reference is hard to read. */
const inPlainWords: readonly (readonly [name: RegExp, text: string])[] = [
  [/comp-op$/, "How its colours are mixed with those that are drawn below it."],
  [
    /-clip$/,
    "Whether shapes are cut at the edge of the tile first. That is faster for very large ones, and seldom seen.",
  ],
  [/-simplify$/, "Leaves out details of shapes that are smaller than so many pixels."],
  [/-simplify-algorithm$/, "How details are left out."],
  [/-smooth$/, "Rounds the corners of shapes: 0 not at all, 1 fully."],
  [/-gamma-method$/, "By which rule the gamma softens the edges."],
  [/-geometry-transform$/, "Moves, turns or scales the shape before it is drawn."],
  [/-dasharray$/, "Lengths of dashes and gaps in turn."],
  [/-miterlimit$/, "How far a pointed corner may reach, in widths of the line; longer ones are cut off."],
  [/^(?!marker-).*-opacity$/, "0 is not to be seen, 1 covers all below it."],
  [/^building-fill$/, "The colour of roofs; walls are darker."],
  [
    /^text-min-distance$/,
    "The least distance to the next label with the same text along a line. Better take `text-repeat-distance`.",
  ],
  [/^shield-min-distance$/, "The least distance to other things. Better take `shield-margin`."],
];

const mixing = "[a way of mixing](#ways-of-mixing)";

/** What values there are, in words. */
function valuesOf(rule: ValueRule, mixed: readonly string[]): string {
  switch (rule.kind) {
    case "number":
      return `${rule.whole ? "whole number" : "number"} ${rule.min} to ${rule.max}${rule.expression ? ", or an expression" : ""}`;
    case "keyword":
      if (rule.values.join() === mixed.join()) return mixing;
      return rule.values.map((value) => `\`${value}\``).join(", ");
    case "boolean":
      return "`true`, `false`";
    case "color":
      return "colour";
    case "dashes":
      return "lengths: `8, 4`";
    case "transform":
      return "transformation: `rotate(45)`";
    case "picture":
      return "`url(picture.svg)`";
    case "face":
      return 'font: `"DejaVu Sans Bold"`';
    case "text":
      return 'column or text: `[name]`, `"km " + [km]`';
    case "placements":
      return 'places to try: `"N,S,E,W"`';
    case "character":
      return "one character";
    case "imageFilters":
      return "filters: `agg-stack-blur(2, 2)`";
    case "featureSettings":
      return 'features of the font: `"smcp"`';
    case "stops":
      return "`stop(0, #fff) stop(100, #000)`";
    case "ignored":
      return "taken, without effect";
  }
}

export function cartocssPage(): string {
  const reference = createRequire(import.meta.url)("mapnik-reference") as MapnikReference;
  const { style, symbolizers } = reference.load(reference.versions.at(-1) ?? "");
  const docs = new Map<string, Described>();
  for (const group of [style, ...Object.values(symbolizers)])
    for (const one of Object.values(group)) if (one.css && !docs.has(one.css)) docs.set(one.css, one);
  // Mapnik would take more kinds of pictures than a project can have.
  const ours = (text: string) =>
    text.replace(
      /Accepted formats: .*?\.$/,
      "A [picture of the project](api-styles.md#upload-a-picture): PNG, WebP or SVG.",
    );
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ").replace(/[<>]/g, "");
  const mixed = allowedStyle["comp-op"]?.value.kind === "keyword" ? allowedStyle["comp-op"].value.values : [];
  const table = (properties: AllowedProperties) => {
    const rows = Object.entries(properties).map(([name, { value }]) => {
      const known = docs.get(name);
      const plain = inPlainWords.find(([names]) => names.test(name))?.[1];
      const preset = known?.["default-value"];
      const shown =
        preset === undefined || ["none", ""].includes(String(preset)) || / will be /.test(String(preset))
          ? ""
          : ` Default \`${cell(String(preset))}\`.`;
      return `| \`${name}\` | ${cell(valuesOf(value, mixed))} | ${cell(plain ?? ours(known?.doc ?? ""))}${shown} |`;
    });
    return `| property | values | what it does |\n|---|---|---|\n${rows.join("\n")}`;
  };
  const parts = Object.entries(allowedSymbolizers).map(
    ([name, properties]) => `## ${titles[name] ?? name}\n\n${table(properties)}`,
  );
  return `# CartoCSS

<!-- words: style properties, css, symbolizer, colour, width, marker, polygon-fill, line-color, text-name, label -->

All properties that a style may have, with the values that they take. How styles are written is told in
[styles](api-styles.md); how to change the look of a layer, in [restyle a layer](../how-to/restyle.md).

\`\`\`css
#roads {
  line-color: #b5651d;
  line-width: 1;
  [zoom >= 12] { line-width: 3; }
  [kind = "path"] { line-dasharray: 4, 3; }
  ::names { text-name: [name]; text-face-name: "DejaVu Sans Book"; text-placement: line; text-fill: #333; }
}
\`\`\`

Lengths are in pixels of a tile of 256. Where an expression is taken, it may name columns: \`marker-width: [size] * 2\`.

${parts.join("\n\n")}

## A whole layer or attachment

${table(allowedStyle)}

## Ways of mixing

\`multiply\` darkens what lies below, \`screen\` lightens it, \`src-over\` covers it. All of them:
${mixed.map((value) => `\`${value}\``).join(", ")}.

## The map

Inside of \`Map { … }\` of a map's style.

${table(allowedMap)}
`;
}
