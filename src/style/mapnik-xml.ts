import { createHash } from "node:crypto";
import type { MapSource, XmlText } from "../hosts/messages.js";
import { onceForEach } from "../once.js";
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
export function mapSource(map: MapnikMap): MapSource {
  const faces = new Set<string>();
  const styles: (string | KeptText)[] = [];
  const layers: (string | KeptText)[] = [];
  for (const layer of map.layers) {
    const named = layer.style.styles.map((style) => ({ style, name: `${layer.name}/${style.name}` }));
    for (const { style, name } of named) {
      const rules = rulesOf(style);
      for (const face of rules.faces) faces.add(face);
      styles.push(opening("Style", { ...style.attributes, name }), rules, closing("Style"));
    }
    const attributes = {
      name: layer.name,
      srs: layer.srs ?? "epsg:3857",
      "buffer-size": pixels(layer.bufferSize ?? map.bufferSize),
      // One query for all attachments of a layer.
      ...(named.length > 1 && { "cache-features": "true" }),
    };
    layers.push(
      opening("Layer", attributes),
      ...named.map(({ name }) => element("StyleName", {}, escapeXml(name))),
      datasourceOf(layer.datasource),
      closing("Layer"),
    );
  }
  const attributes = {
    srs: map.srs ?? "epsg:3857",
    "buffer-size": pixels(map.bufferSize),
    ...(map.properties.backgroundColor !== undefined && {
      "background-color": map.properties.backgroundColor,
    }),
  };
  const start = `<?xml version="1.0" encoding="utf-8"?>\n${opening("Map", attributes)}`;
  return joined([start, ...[...faces].map(fontSet), ...styles, ...layers, closing("Map")]);
}

export const xmlOf = ({ xml }: Pick<MapSource, "xml">): string => xml.map(({ text }) => text).join("");

/** Of what was made once for many maps. */
interface KeptText {
  readonly xml: XmlText;
  readonly digest: string;
}

const kept = (xml: XmlText): KeptText => ({ xml, digest: digest(xml.text) });

function joined(parts: readonly (string | KeptText)[]): MapSource {
  const xml: XmlText[] = [];
  const hashed: string[] = [];
  let own = "";
  const endOwn = () => {
    xml.push({ text: own });
    hashed.push(own);
    own = "";
  };
  for (const part of parts) {
    if (typeof part === "string") own += part;
    else {
      endOwn();
      xml.push(part.xml);
      hashed.push(part.digest);
    }
  }
  endOwn();
  // No XML has this character.
  return { xml, digest: digest(hashed.join("\0")) };
}

/** Hash of a text: 132 bits of SHA-256. */
export const digest = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 22);

/** What takes long of the XML of a layer, piece by piece: maps that have it find it made. */
export function* layerTexts({ style, datasource }: MapnikLayer): Generator<KeptText, void> {
  for (const one of style.styles) yield rulesOf(one);
  yield datasourceOf(datasource);
}

const datasourceOf = onceForEach((datasource: MapnikLayer["datasource"]) =>
  kept({ text: element("Datasource", {}, Object.entries(datasource).map(parameter)) }),
);

/** The rules of a style, and the faces of their labels. Layers share styles. */
const rulesOf = onceForEach(({ rules }: Style) => {
  const faces = new Set<string>();
  const text = rules.map((rule) => ruleXml(rule, faces)).join("");
  return { ...kept({ text, isRules: true }), faces };
});

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
  const inner = typeof content === "string" ? content : content.join("");
  return inner === ""
    ? `<${name}${attributesXml(attributes)}/>\n`
    : `${opening(name, attributes)}${inner}${closing(name)}`;
}

const opening = (name: string, attributes: Readonly<Record<string, string>>): string =>
  `<${name}${attributesXml(attributes)}>`;
const closing = (name: string): string => `</${name}>\n`;

const attributesXml = (attributes: Readonly<Record<string, string>>): string =>
  Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join("");

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
