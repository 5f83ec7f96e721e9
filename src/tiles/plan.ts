import type { LayerNode, MapState } from "../catalog/state.js";
import { type Source, unchangedSince } from "../changes/count.js";
import type { LayerVersion } from "../changes/layer-version.js";
import { topScaleDenominator } from "../geo/tile.js";
import type { MapSource } from "../hosts/messages.js";
import { onceAsked, onceForEach } from "../once.js";
import type { Pause } from "../queues/slices.js";
import { digest, layerTexts, type MapnikLayer, mapSource } from "../style/mapnik-xml.js";
import type { CompiledStyle, MapProperties, Rule, Style } from "../style/model.js";
import type { PictureFile } from "../style/pictures.js";
import { givingWay, hiddenNames, isBlending, mayHide, pixelsInTheWay, writesNames } from "./base-names.js";
import { datasource, lastLevelZoom } from "./datasource.js";
import { markersAsDots, markersAsDotsWithRoom } from "./dots.js";
import type { ImagePart } from "./image-part.js";
import type { MissingLayer } from "./missing-layer.js";
import { rasterDatasources, rasterStyle } from "./raster-drawing.js";
import { appliesAt, appliesFrom } from "./thinning.js";

/** All that determines what tiles show, except their coordinates and the data. Shared by the tiles of a map. */
export interface TilePlan {
  /** Hash of what is shown and how; part of the keys of cached tiles, so that equal tiles are cached once. */
  readonly key: string;
  /** Unscaled pixels around what is made at once from which objects may reach into it. */
  readonly bufferPixels: number;
  /**
   * Pixels from which a changed object may reach into a tile. The layers of the base map do not count: they change as a whole, with
   * the plan.
   */
  readonly reachPixels: number;
  /**
   * Whether symbols of the layers avoid each other, without the base map's. Then an object affects the labels of its neighbours,
   * so a change of it affects all tiles that are made at once.
   */
  readonly collides: boolean;
  /** Whether a tile that is made alone is as it is among those that are made at once. */
  readonly isDrawnAlike: boolean;
  /** The layers that are shown. */
  readonly layers: readonly LayerVersion[];
  /** Whose work making them is: the project. */
  readonly owner: string;
  /** The epoch of the database that the layers' versions belong to. */
  readonly epoch: string;
  /** All that a tile depends on: the maps and the layers. */
  readonly sources: readonly Source[];
  /** What the plan was made from: the snapshots of the maps. */
  readonly mapSources: readonly Source[];
  /** The change count at which the snapshots were current. */
  readonly asOf: number;
  /** Layers whose statistics the plan shows, with their versions before these were computed. */
  readonly visualized: readonly { readonly layer: LayerVersion; readonly version: number }[];
  /** False: a layer is not as it should be, or is missing. */
  readonly complete: boolean;
  /** Layers that it should show and does not, as they cannot be drawn just then. */
  readonly missing: readonly MissingLayer[];
  /** The same without these layers, which are missing then. */
  readonly without: (layers: readonly MissingLayer[]) => Promise<this>;
  /** Names what is drawn of one of its layers, and how. */
  readonly drawingOf: (layerId: number) => string;
  readonly projectId: number;
  /** The map, and its base map if that has layers; with the ids of the layers shown. */
  readonly maps: readonly { readonly id: number; readonly layers: readonly number[] }[];
}

/** The plan of images. Its layers are the map's, then the base map's from the index `firstBaseLayer` on. */
export interface Plan extends TilePlan {
  /** From the bottom to the top: first the base map's, if any. */
  readonly parts: readonly PlanPart[];
  readonly scale: 1 | 2 | 3;
  readonly firstBaseLayer: number;
  /** What answers name its layers by: one each. */
  readonly codes: readonly string[];
  /** One of its layers alone, with nothing below it. */
  readonly alone: (layerId: number) => Promise<Plan>;
  /** By zoom, objects that there are in a square of 4 x 4 tiles in the dense places of its layers; empty = few. */
  readonly density: readonly number[];
}

/**
 * A part of what is drawn, over those before it: a map that Mapnik draws, or an image. The layers of a map are one part, cut
 * where an image lies between them.
 */
export type PlanPart =
  | {
      readonly kind: "map";
      readonly map: MapSource;
      /** The same for metatiles that reach beyond ±180°: with the objects of the other end of the world. */
      readonly mapAtAntimeridian: () => Promise<MapSource>;
      /** Whether it is the built-in base map, whose pixels all maps over it share. */
      readonly isBase: boolean;
      /** Whether it has names of the base map that the rest of it hides. */
      readonly isApart: boolean;
      /** Images that its layers show. */
      readonly blobs: readonly LayerBlob[];
      /** Pictures that its styles show. */
      readonly pictures: readonly LayerPicture[];
      /** Layers that change nothing in the picture where they have no objects: id → name in the map. */
      readonly placed: ReadonlyMap<number, string>;
    }
  | { readonly kind: "image"; readonly image: ImagePart; readonly layerId: number };

/** The key of an image, and whose it is. */
interface LayerBlob {
  readonly key: string;
  readonly layerId: number;
}
interface LayerPicture {
  readonly file: PictureFile;
  readonly layerId: number;
}

/** Whether neither the maps nor the objects whose statistics it shows have changed since the plan was made. */
export const isPlanCurrent = (plan: TilePlan): boolean =>
  unchangedSince(plan.mapSources, plan.asOf) && showsCurrentStatistics(plan);

/** Whether the objects whose statistics it shows have not changed since the plan was made. */
export const showsCurrentStatistics = ({ visualized }: TilePlan): boolean =>
  visualized.every(({ layer, version }) => layer.version === version);

/**
 * A layer and what draws it: Mapnik by its compiled style, with the files of its pictures, or an image that is made
 * elsewhere.
 */
export type StyledLayer = StyledByMapnik | { readonly layer: LayerNode; readonly image: ImagePart };

interface StyledByMapnik {
  readonly layer: LayerNode;
  readonly style: CompiledStyle;
  /** Pictures that the style shows. */
  readonly files: readonly PictureFile[];
  /** Whether the statistics in the style are those of earlier objects. */
  readonly isOutdated?: boolean;
}

/** A map with its compiled styles. */
export interface StyledMap {
  readonly map: MapState;
  /** As `planZoom` of planner.ts has it. */
  readonly z: number;
  readonly properties: MapProperties;
  /** From the top of the tree to its bottom. */
  readonly layers: readonly StyledLayer[];
  readonly layersOf: LayersOf;
  /** False: the map's style does not compile, or statistics of a visualization are out of date. */
  readonly complete: boolean;
  /** Layers that there is nothing to draw by. */
  readonly missing: readonly MissingLayer[];
}

/** The layers of Mapnik that draw a layer, which are made once. */
export type LayersOf = (one: StyledByMapnik, atAntimeridian: boolean) => readonly MapnikLayer[];

export interface MapnikMapOptions {
  readonly z: number;
  readonly scale: 1 | 2 | 3;
  readonly language: string;
}

/** The parts of a map. */
export interface MapDrawing {
  readonly parts: readonly PlanPart[];
  /** Unscaled pixels around a metatile from which objects may reach into it. */
  readonly bufferPixels: number;
  readonly collides: boolean;
  readonly isDrawnAlike: boolean;
  /** As in the plan. */
  readonly density: readonly number[];
}

export interface PartsOptions extends Pick<MapnikMapOptions, "scale"> {
  readonly isBase: boolean;
  /** Absent = as its layers have it. */
  readonly collides?: boolean;
  /** Names that are drawn where its labels leave room. */
  readonly names?: BaseNames | undefined;
  /** Begins a work in slices. */
  readonly begin: () => Pause;
}

/** The layers of a base map that have its names, and what draws them. */
export interface BaseNames extends Pick<StyledMap, "layersOf"> {
  /** From the top to the bottom. */
  readonly layers: readonly StyledByMapnik[];
  /** Whether the map's areas and images hide them: else they lie above it, where they are read best. */
  readonly isHidden: boolean;
}

/**
 * The names of the base map that a map with labels draws itself, and the base map without them; undefined = the base map draws
 * its names: there are no labels at this zoom, or the map hides or changes what is below it.
 */
export function namesUnder(
  map: StyledMap,
  base: StyledMap,
): { readonly names: BaseNames; readonly base: StyledMap } | undefined {
  const applies = appliesIn(map);
  const isNames = (one: StyledLayer): one is StyledByMapnik => "style" in one && writesNames(one.style);
  const layers = base.layers.filter(isNames);
  const isUnder =
    map.properties.backgroundColor === undefined &&
    layers.some(({ style }) => rulesOf(style).some(applies)) &&
    map.layers.some(collidesIn(map)) &&
    // Images would lie between.
    map.layers.every((one) => "style" in one);
  if (!isUnder) return undefined;
  const isHidden = map.layers.some(hides);
  // What blends with the base map cannot be drawn apart from it.
  if (isHidden && map.layers.some(blends)) return undefined;
  return {
    names: { layers, layersOf: base.layersOf, isHidden },
    base: { ...base, layers: base.layers.filter((one) => !isNames(one)) },
  };
}

/** Whether a rule applies at a zoom that the map is drawn at. */
function appliesIn({ z }: StyledMap): (rule: Rule) => boolean {
  const scaleDenominator = topScaleDenominator / 2 ** z;
  // Plans of the last zoom are for all above it too.
  return (rule) => (z > lastLevelZoom ? appliesFrom : appliesAt)(rule, scaleDenominator);
}

const rulesOf = ({ styles }: CompiledStyle): readonly Rule[] => styles.flatMap(({ rules }) => rules);

/** The parts that a map is drawn from. What takes long should have been made by `prepareParts`. */
export function buildParts(styledMap: StyledMap, options: PartsOptions): MapDrawing {
  const { properties, layers } = styledMap;
  const names = options.names?.layers ?? [];
  /** Unscaled pixels from which names have to know the layer. */
  const inTheWay = ({ style }: StyledByMapnik) =>
    Math.max(0, ...names.map((one) => pixelsInTheWay(style, one.style)));
  const reaches = [...layers, ...names].map((one) =>
    "style" in one ? Math.max(one.style.bufferPixels, inTheWay(one)) : one.image.reachPixels,
  );
  const bufferPixels = Math.max(8, ...reaches);
  const collidesHere = collidesIn(styledMap);
  const collides = options.collides ?? layers.some(collidesHere);
  const parts: PlanPart[] = [];
  let run: StyledByMapnik[] = [];
  let blobs: LayerBlob[] = [];
  let pictures: LayerPicture[] = [];
  let placed = new Map<number, string>();
  let unnamed = options.names;
  const endRun = () => {
    // The background is below all layers.
    const own = parts.length === 0 ? properties : {};
    if (run.length > 0 || own.backgroundColor !== undefined) {
      const styled = run;
      // The lowest labels have the names of the base map below them.
      const below = run.some(collidesHere) ? unnamed : undefined;
      if (below) unnamed = undefined;
      for (const one of below?.layers ?? []) if (isPlaced(one)) placed.set(one.layer.id, nameOf(one.layer));
      const source = (atAntimeridian: boolean): MapSource => {
        const layers = [
          ...styled.flatMap((one) => {
            const drawn = drawnBy(styledMap, one, { collides, atAntimeridian });
            return below ? drawn.map(seenFrom(inTheWay(one) * options.scale)) : drawn;
          }),
          ...(below ? namesBelow(below, atAntimeridian) : []),
        ];
        return mapSource({ properties: own, layers, bufferSize: bufferPixels * options.scale });
      };
      parts.push({
        kind: "map",
        map: source(false),
        mapAtAntimeridian: onceAsked(async () => {
          await prepareParts(
            { ...styledMap, layers: styled },
            { collides, atAntimeridian: true },
            options.begin(),
          );
          return source(true);
        }),
        isBase: options.isBase,
        isApart: below?.isHidden ?? false,
        blobs,
        pictures,
        placed,
      });
    }
    run = [];
    blobs = [];
    pictures = [];
    placed = new Map();
  };
  // From the bottom of the tree.
  for (const one of layers.toReversed()) {
    if ("style" in one) {
      run.push(one);
      for (const file of one.files) pictures.push({ file, layerId: one.layer.id });
      if (isPlaced(one)) placed.set(one.layer.id, nameOf(one.layer));
      if (one.layer.raster) blobs.push({ key: one.layer.raster.drawn, layerId: one.layer.id });
    } else {
      endRun();
      parts.push({ kind: "image", image: one.image, layerId: one.layer.id });
    }
  }
  endRun();
  return {
    parts,
    bufferPixels,
    collides,
    isDrawnAlike: !collides && layers.every(isAlike),
    density: densityOf(layers),
  };
}

/** Makes what the parts of a map take long for, piece by piece. */
export async function prepareParts(
  map: StyledMap,
  { atAntimeridian, ...given }: { readonly atAntimeridian: boolean; readonly collides?: boolean },
  pause: Pause,
): Promise<void> {
  const { layers } = map;
  const collidesHere = collidesIn(map);
  for (const one of layers) {
    collidesHere(one);
    isAlike(one);
    await pause();
  }
  const collides = given.collides ?? layers.some(collidesHere);
  for (const one of layers) {
    if (!("style" in one)) continue;
    for (const drawn of drawnBy(map, one, { collides, atAntimeridian }))
      for (const _ of layerTexts(drawn)) await pause();
  }
}

function drawnBy(
  { layersOf }: StyledMap,
  one: StyledByMapnik,
  { collides, atAntimeridian }: { readonly collides: boolean; readonly atAntimeridian: boolean },
): readonly MapnikLayer[] {
  const drawn = layersOf(one, atAntimeridian);
  if (one.layer.geometryKind !== "Point" || one.style.query) return drawn;
  const asDots = collides ? dottedWithRoom : dotted;
  return drawn.map((layer) => ({ ...layer, style: asDots(layer.style) }));
}

/** What is drawn last finds the least room, though it may be painted below the rest. */
const namesBelow = ({ layers, layersOf, isHidden }: BaseNames, atAntimeridian: boolean): MapnikLayer[] =>
  layers
    .toReversed()
    .flatMap((one) => layersOf(one, atAntimeridian))
    .map((layer) => ({ ...layer, style: (isHidden ? hiddenNames : givingWay)(layer.style) }));

/** Adjacent metatiles have to know the same symbols, so that they leave out the same names. */
const seenFrom =
  (pixels: number) =>
  (layer: MapnikLayer): MapnikLayer => ({
    ...layer,
    bufferSize: Math.max(layer.bufferSize ?? 0, pixels),
  });

const dotted = onceForEach(markersAsDots);
const dottedWithRoom = onceForEach(markersAsDotsWithRoom);

function densityOf(layers: readonly StyledLayer[]): number[] {
  const sums: number[] = [];
  for (const one of layers) {
    if (!("style" in one)) continue;
    for (const [zoom, objects] of (one.layer.density ?? []).entries()) {
      sums[zoom] ??= 0;
      const scaleDenominator = topScaleDenominator / 2 ** zoom;
      const isDrawn = one.style.styles.some(({ rules }) =>
        rules.some((rule) => appliesAt(rule, scaleDenominator)),
      );
      if (isDrawn) sums[zoom] += objects;
    }
  }
  return sums;
}

const nameOf = ({ id }: LayerNode): string => `l${id}`;

export function mapnikLayersOf(map: MapState, options: MapnikMapOptions): LayersOf {
  const made = (atAntimeridian: boolean) =>
    onceForEach((one: StyledByMapnik) => mapnikLayers(map, one, { ...options, atAntimeridian }));
  const [within, beyond] = [made(false), made(true)];
  return (one, atAntimeridian) => (atAntimeridian ? beyond : within)(one);
}

/** The layers of Mapnik that draw a layer: for an image one in each world copy that it touches. */
function mapnikLayers(
  map: MapState,
  { layer, style }: StyledByMapnik,
  { z, scale, language, atAntimeridian }: MapnikMapOptions & { readonly atAntimeridian: boolean },
): MapnikLayer[] {
  const name = nameOf(layer);
  // Mapnik measures buffers in pixels of the image, which has `scale` times as many.
  const bufferSize = style.bufferPixels * scale;
  if (layer.raster) {
    const drawn = rasterStyle(style, { raster: layer.raster, scale });
    return rasterDatasources(layer.raster).map((source, copy) => ({
      name: `${name}w${copy}`,
      style: drawn,
      bufferSize,
      datasource: source,
    }));
  }
  const source = datasource(layer, style, {
    language,
    mainLanguage: map.project.languages[0],
    zoom: z + Math.ceil(Math.log2(scale)),
    scaleDenominator: topScaleDenominator / 2 ** z,
    atAntimeridian,
  });
  return [{ name, style, bufferSize, datasource: source }];
}

/**
 * Whether the layer is drawn from objects alone, each in its place. A style as a whole may change what is below it, even
 * without an object; visualizations may draw elsewhere; objects beyond the edge of the world are drawn at the other edge too.
 */
const isPlaced = ({ layer, style }: { readonly layer: LayerNode; readonly style: CompiledStyle }): boolean =>
  !layer.raster &&
  !layer.crossesAntimeridian &&
  style.query === undefined &&
  style.styles.every(({ attributes }) => Object.keys(attributes).every((name) => harmless.has(name)));
const harmless: ReadonlySet<string> = new Set(["filter-mode", "opacity"]);

const blends = (one: StyledLayer): boolean => "style" in one && isBlending(one.style);
const hides = (one: StyledLayer): boolean =>
  "style" in one && (one.layer.raster !== null || mayHide(one.style));

/** Hash of all parts. */
export const partsDigest = (parts: readonly PlanPart[], scale: number): string =>
  digest(
    [...parts.map((part) => (part.kind === "map" ? part.map.digest : part.image.digest)), scale].join(" "),
  );

/**
 * Characters of the texts of the parts. Those that differ at the antimeridian and in a plan with fewer layers, which are made later or
 * never, count for these too.
 */
export function partsLength(parts: readonly PlanPart[]): number {
  const texts = new Set(parts.flatMap((part) => (part.kind === "map" ? part.map.xml : [])));
  let length = 0;
  for (const { text, isRules } of texts) length += isRules ? text.length : 4 * text.length;
  for (const part of parts) length += part.kind === "map" ? 100 * part.pictures.length : part.image.length;
  return length;
}

/** Whether the layer's pixels do not depend on the image that they are drawn into. */
function isAlike(layer: StyledLayer): boolean {
  if (!("style" in layer)) return true;
  // Images are resampled, filters see pixels around, and patterns whose sides are no whole pixels begin elsewhere.
  return layer.style.query === undefined && !layer.layer.raster && layer.style.styles.every(isStyleAlike);
}

const isStyleAlike = onceForEach(
  ({ attributes, rules }: Style) =>
    !("image-filters" in attributes || "direct-image-filters" in attributes) &&
    rules.every(({ symbolizers }) => symbolizers.every(({ type }) => type !== "PolygonPatternSymbolizer")),
);

/** Whether symbols of a layer give way to others where the map is drawn. */
function collidesIn(map: StyledMap): (one: StyledLayer) => boolean {
  const applies = appliesIn(map);
  return (one) => "style" in one && collidingRules(one.style).some(applies);
}

const collidingRules = onceForEach((style: CompiledStyle) => rulesOf(style).filter(hasCollisions));

const hasCollisions = (rule: Rule): boolean =>
  rule.symbolizers.some(
    ({ type, attributes }) =>
      (type === "TextSymbolizer" ||
        type === "ShieldSymbolizer" ||
        type === "MarkersSymbolizer" ||
        type === "PointSymbolizer") &&
      attributes["allow-overlap"] !== "true",
  );

export { digest };
