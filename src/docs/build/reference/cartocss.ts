import { createRequire } from "node:module";
import {
  type AllowedProperties,
  allowedMap,
  allowedStyle,
  allowedSymbolizers,
  type ValueRule,
} from "../../../style/allowed.js";
import { wordsOf } from "./cartocss-words.js";

/** The page of CartoCSS: properties and ranges from the style checker, defaults from Mapnik's reference. */

interface Described {
  readonly css?: string;
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
  const presets = new Map<string, Described>();
  for (const group of [style, ...Object.values(symbolizers)])
    for (const one of Object.values(group)) if (one.css && !presets.has(one.css)) presets.set(one.css, one);
  const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ").replace(/[<>]/g, "");
  const mixed = allowedStyle["comp-op"]?.value.kind === "keyword" ? allowedStyle["comp-op"].value.values : [];
  const table = (properties: AllowedProperties) => {
    const rows = Object.entries(properties).map(([name, { value }]) => {
      const preset = presets.get(name)?.["default-value"];
      const shown =
        value.kind === "ignored" ||
        preset === undefined ||
        ["none", ""].includes(String(preset)) ||
        / will be /.test(String(preset))
          ? ""
          : ` Default \`${cell(String(preset))}\`.`;
      return `| \`${name}\` | ${cell(valuesOf(value, mixed))} | ${cell(wordsOf(name))}${shown} |`;
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
