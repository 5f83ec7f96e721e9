import { createHash } from "node:crypto";
import type { LayerNode, MapState } from "../catalog/state.js";
import { type Source, unchangedSince } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import type { MapSource } from "../hosts/messages.js";
import { mapnikXml } from "../style/mapnik-xml.js";
import type { CompiledStyle, MapProperties, Rule } from "../style/model.js";
import { datasource } from "./datasource.js";

/** Everything that decides a tile's picture but the place and the data: one plan for all tiles of one look. */
export interface Plan {
  /** Hash of all that is drawn and how; tiles are kept under it, so what looks the same is kept once. */
  readonly key: string;
  readonly map: MapSource;
  readonly base: MapSource | undefined;
  readonly scale: 1 | 2 | 3;
  readonly bufferPixels: number;
  /**
   * Whether symbols give way to each other. Then an object decides over its neighbours' labels too, so a change
   * counts for the whole metatile that was drawn with it.
   */
  readonly collides: boolean;
  /** The map's layers, then the base map's from `baseFrom` on. */
  readonly layers: readonly LayerVersion[];
  readonly baseFrom: number;
  /** History that the layers' versions belong to. */
  readonly epoch: string;
  /** All that a picture depends on: what the plan was made from, and the layers. */
  readonly sources: readonly Source[];
  /** What the plan itself was made from: the snapshots of the maps. */
  readonly origins: readonly Source[];
  /** The count at which those were right. */
  readonly asOf: number;
  /** False: a style could not be compiled this time, so that its layer is left out. */
  readonly complete: boolean;
  /** Value of `Surrogate-Key`. */
  readonly surrogateKey: string;
}

/** Whether the plan is made of what is known now. */
export const isPlanCurrent = ({ origins, asOf }: Plan): boolean => unchangedSince(origins, asOf);

/** A layer with its compiled style. */
export interface StyledLayer {
  readonly layer: LayerNode;
  readonly style: CompiledStyle;
}

/** A map as it is drawn at one zoom. */
export interface MapAtZoom {
  readonly map: MapState;
  readonly properties: MapProperties;
  /** From the top of the tree to its bottom. */
  readonly layers: readonly StyledLayer[];
  /** False: a style could not be compiled this time. */
  readonly complete: boolean;
}

export interface MapnikMapOptions {
  readonly z: number;
  readonly scale: 1 | 2 | 3;
  readonly language: string;
}

/** Scale denominator of zoom 0 by the OGC's pixel of 0.28 mm. */
const topScaleDenominator = 559082264.0287178;

/** A sheet as Mapnik is given it. */
export interface Drawing {
  readonly source: MapSource;
  /** Unscaled pixels around a metatile that are drawn with it. */
  readonly bufferPixels: number;
  readonly collides: boolean;
}

/** Mapnik XML of a sheet and how many unscaled pixels around a metatile it needs. Pure. */
export function buildMapnikMap(sheet: MapAtZoom, options: MapnikMapOptions): Drawing {
  const main = sheet.map.project.languages[0];
  const layers = sheet.layers.map(({ layer, style }) => ({
    name: `l${layer.id}`,
    style,
    // Mapnik measures a layer's buffer in pixels of the picture, whatever its scale.
    bufferSize: style.bufferPixels * options.scale,
    datasource: datasource(layer, style, {
      language: options.language,
      mainLanguage: main,
      zoom: options.z + Math.ceil(Math.log2(options.scale)),
      scaleDenominator: topScaleDenominator / 2 ** options.z,
    }),
  }));
  const bufferPixels = Math.max(8, ...sheet.layers.map(({ style }) => style.bufferPixels));
  // Mapnik draws its first layer first: the bottom of the tree.
  const xml = mapnikXml({
    properties: sheet.properties,
    layers: layers.reverse(),
    bufferSize: bufferPixels * options.scale,
  });
  const collides = sheet.layers.some(({ style }) =>
    style.styles.some((one) => one.rules.some(hasCollisions)),
  );
  return { source: { xml, digest: digest(xml) }, bufferPixels, collides };
}

const hasCollisions = (rule: Rule): boolean =>
  rule.symbolizers.some(
    ({ type, attributes }) =>
      (type === "TextSymbolizer" ||
        type === "ShieldSymbolizer" ||
        type === "MarkersSymbolizer" ||
        type === "PointSymbolizer") &&
      attributes["allow-overlap"] !== "true",
  );

/** Short collision-free name of a text. */
export const digest = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 22);
