import { createHash } from "node:crypto";
import type { LayerNode, MapState } from "../catalog/state.js";
import { type Source, unchangedSince } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import type { MapSource } from "../hosts/messages.js";
import { mapnikXml } from "../style/mapnik-xml.js";
import type { CompiledStyle, MapProperties, Rule } from "../style/model.js";
import { datasource } from "./datasource.js";

/** All that determines how a tile is drawn, except its coordinates and the data. Shared by the tiles of a map. */
export interface Plan {
  /** Hash of what is drawn and how; part of the keys of cached tiles, so that equal tiles are cached once. */
  readonly key: string;
  readonly map: MapSource;
  readonly base: MapSource | undefined;
  readonly scale: 1 | 2 | 3;
  readonly bufferPixels: number;
  /**
   * Whether symbols avoid each other. Then an object affects the labels of its neighbours, so a change of it affects
   * the whole metatile.
   */
  readonly collides: boolean;
  /** The map's layers, then the base map's from the index `firstBaseLayer` on. */
  readonly layers: readonly LayerVersion[];
  readonly firstBaseLayer: number;
  /** The epoch of the database that the layers' versions belong to. */
  readonly epoch: string;
  /** All that a tile depends on: the maps and the layers. */
  readonly sources: readonly Source[];
  /** What the plan was made from: the snapshots of the maps. */
  readonly mapSources: readonly Source[];
  /** The change count at which the snapshots were current. */
  readonly asOf: number;
  /** False: compiling a style timed out, so that its layer is missing. */
  readonly complete: boolean;
  /** Value of `Surrogate-Key`. */
  readonly surrogateKey: string;
}

/** Whether the maps have not changed since the plan was made. */
export const isPlanCurrent = ({ mapSources, asOf }: Plan): boolean => unchangedSince(mapSources, asOf);

/** A layer with its compiled style. */
export interface StyledLayer {
  readonly layer: LayerNode;
  readonly style: CompiledStyle;
}

/** A map with its compiled styles. */
export interface StyledMap {
  readonly map: MapState;
  readonly properties: MapProperties;
  /** From the top of the tree to its bottom. */
  readonly layers: readonly StyledLayer[];
  /** False: compiling a style timed out. */
  readonly complete: boolean;
}

export interface MapnikMapOptions {
  readonly z: number;
  readonly scale: 1 | 2 | 3;
  readonly language: string;
}

/** Scale denominator of zoom 0, with the OGC's standardized pixel of 0.28 mm. */
const topScaleDenominator = 559082264.0287178;

/** A map as Mapnik gets it. */
export interface MapnikDrawing {
  readonly source: MapSource;
  /** Unscaled pixels around a metatile that are drawn with it. */
  readonly bufferPixels: number;
  readonly collides: boolean;
}

/** The Mapnik XML of a map, and the buffer that its metatiles need. Pure. */
export function buildMapnikMap(styledMap: StyledMap, options: MapnikMapOptions): MapnikDrawing {
  const main = styledMap.map.project.languages[0];
  const layers = styledMap.layers.map(({ layer, style }) => ({
    name: `l${layer.id}`,
    style,
    // Mapnik measures buffers in pixels of the image, which has `scale` times as many.
    bufferSize: style.bufferPixels * options.scale,
    datasource: datasource(layer, style, {
      language: options.language,
      mainLanguage: main,
      zoom: options.z + Math.ceil(Math.log2(options.scale)),
      scaleDenominator: topScaleDenominator / 2 ** options.z,
    }),
  }));
  const bufferPixels = Math.max(8, ...styledMap.layers.map(({ style }) => style.bufferPixels));
  // Mapnik draws its first layer first: the bottom of the tree.
  const xml = mapnikXml({
    properties: styledMap.properties,
    layers: layers.reverse(),
    bufferSize: bufferPixels * options.scale,
  });
  const collides = styledMap.layers.some(({ style }) =>
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

/** Hash of a text: 132 bits of SHA-256. */
export const digest = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 22);
