import { faceChain, isFace, isProjectFace } from "./fonts.js";
import type { CompiledStyle, MapProperties, Rule, Style, Symbolizer } from "./model.js";

export interface MapnikLayer {
  /** Unique in the map. */
  readonly name: string;
  readonly style: CompiledStyle;
  /** Parameters of Mapnik's datasource, `type` among them. */
  readonly datasource: Readonly<Record<string, string>>;
  /** Margin around the image from which objects are drawn too, in pixels of the image; default: the map's. */
  readonly bufferSize?: number;
  /** Reference system of the data; default EPSG:3857. */
  readonly srs?: string;
}

export interface MapnikMap {
  readonly properties: MapProperties;
  /** From the bottom to the top. */
  readonly layers: readonly MapnikLayer[];
  /** The buffer of layers without their own. */
  readonly bufferSize: number;
  /** Reference system of the image; default EPSG:3857. */
  readonly srs?: string;
}

/** The XML of a Mapnik 4 map, from checked styles. Every text and attribute in it is escaped. */
export function mapnikXml(map: MapnikMap): string {
  const faces = new Set<string>();
  const styles: string[] = [];
  const layers: string[] = [];
  for (const layer of map.layers) {
    const named = layer.style.styles.map((style) => ({ style, name: `${layer.name}/${style.name}` }));
    for (const { style, name } of named) styles.push(styleXml(style, name, faces));
    const attributes = {
      name: layer.name,
      srs: layer.srs ?? "epsg:3857",
      "buffer-size": pixels(layer.bufferSize ?? map.bufferSize),
      // One query for all attachments of a layer.
      ...(named.length > 1 && { "cache-features": "true" }),
    };
    layers.push(
      element("Layer", attributes, [
        ...named.map(({ name }) => element("StyleName", {}, escapeXml(name))),
        element("Datasource", {}, Object.entries(layer.datasource).map(parameter)),
      ]),
    );
  }
  const attributes = {
    srs: map.srs ?? "epsg:3857",
    "buffer-size": pixels(map.bufferSize),
    ...(map.properties.backgroundColor !== undefined && {
      "background-color": map.properties.backgroundColor,
    }),
  };
  return `<?xml version="1.0" encoding="utf-8"?>\n${element("Map", attributes, [...[...faces].map(fontSet), ...styles, ...layers])}`;
}

const pixels = (value: number): string => String(Math.ceil(value));

const parameter = ([name, value]: [string, string]): string =>
  element("Parameter", { name }, escapeXml(value));

/** A face with its fallback for characters that it lacks. */
const fontSet = (face: string): string =>
  element(
    "FontSet",
    { name: face },
    faceChain(face).map((name) => element("Font", { "face-name": name }, "")),
  );

function styleXml(style: Style, name: string, faces: Set<string>): string {
  return element(
    "Style",
    { ...style.attributes, name },
    style.rules.map((rule) => ruleXml(rule, faces)),
  );
}

function ruleXml(rule: Rule, faces: Set<string>): string {
  const children: string[] = [];
  if (rule.filter !== undefined) children.push(element("Filter", {}, escapeXml(rule.filter)));
  if (rule.minScaleDenominator !== undefined) {
    children.push(element("MinScaleDenominator", {}, String(rule.minScaleDenominator)));
  }
  if (rule.maxScaleDenominator !== undefined) {
    children.push(element("MaxScaleDenominator", {}, String(rule.maxScaleDenominator)));
  }
  return element("Rule", {}, [
    ...children,
    ...rule.symbolizers.map((symbolizer) => symbolizerXml(symbolizer, faces)),
  ]);
}

function symbolizerXml({ type, attributes, text, stops }: Symbolizer, faces: Set<string>): string {
  const { "face-name": face, ...others } = attributes;
  const labelled = face !== undefined && (isFace(face) || isProjectFace(face));
  if (labelled) faces.add(face);
  const rest = labelled ? { ...others, "fontset-name": face } : others;
  if (stops)
    return element(
      type,
      rest,
      stops.map((stop) => element("stop", { ...stop }, "")),
    );
  return element(type, rest, escapeXml(text ?? ""));
}

function element(
  name: string,
  attributes: Readonly<Record<string, string>>,
  content: string | readonly string[],
): string {
  const list = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join("");
  const inner = typeof content === "string" ? content : content.join("");
  return inner === "" ? `<${name}${list}/>\n` : `<${name}${list}>${inner}</${name}>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out or written as numbers
const special = /[&<>"'\u0000-\u001f\ufffe\uffff]/;

/** Control characters cannot be written in XML 1.0 at all; line ends and tabs in attributes only as numbers. */
export const escapeXml = (text: string): string =>
  // The fast path: nearly no text needs escapes.
  special.test(text)
    ? text
        .replace(/[&<>"']/g, (character) => entities[character] as string)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
        .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
        .replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
    : text;
