import type { LayerVersion } from "../changes/layer-version.js";
import type { ImagePart } from "./image-part.js";
import { baseMapLayer, type MissingLayer } from "./missing-layer.js";
import { buildParts, type PartsOptions, type Plan, partsDigest, type StyledMap } from "./plan.js";

/** Puts the plan of images together from maps with compiled styles, and plans with fewer layers. */

export interface Assembly
  extends Omit<PartsOptions, "isBase">,
    Pick<Plan, "epoch" | "mapSources" | "visualized" | "asOf"> {
  readonly map: StyledMap;
  /** The built-in base map. */
  readonly base: StyledMap | undefined;
  /** The base map of the project. */
  readonly baseImage: ImagePart | undefined;
  /** Of the layers of both maps. */
  readonly versions: readonly LayerVersion[];
}

/** Whether a layer is drawn. */
type Shows = (layerId: number) => boolean;

export function assemble(all: Assembly): Plan {
  const missing = [...all.map.missing, ...(all.base?.missing ?? []).map(asBase)];
  const whole = planOf(all, () => true, missing);
  let last: { readonly key: string; readonly plan: Plan } | undefined;
  return {
    ...whole,
    // The last one is kept, as it is asked for again while a layer cannot be drawn.
    without: (layers) => {
      const key = layers.map(({ id, cause }) => `${id} ${cause}`).join();
      if (last?.key !== key) last = { key, plan: whole.without(layers) };
      return last.plan;
    },
  };
}

/** Layers of the base map are not named one by one. */
const asBase = (layer: MissingLayer): MissingLayer => ({ ...layer, code: baseMapLayer.code });

function planOf(all: Assembly, shows: Shows, missing: readonly MissingLayer[]): Plan {
  const { base, baseImage, scale, begin, ...facts } = all;
  const map = withLayers(all.map, shows);
  const drawn = buildParts(map, { scale, begin, isBase: false });
  const styledBase = base && withLayers(base, shows);
  const baseDrawing = styledBase && buildParts(styledBase, { scale, begin, isBase: true });
  const image =
    baseImage && shows(baseMapLayer.id)
      ? ([{ kind: "image", image: baseImage, layerId: baseMapLayer.id }] as const)
      : [];
  const parts = [...image, ...(baseDrawing?.parts ?? []), ...drawn.parts];
  const layers = all.versions.filter(({ id }) => shows(id));
  const own = idsOf(map);
  const alone = (layerId: number) =>
    planOf({ ...all, map: { ...all.map, properties: {} } }, (id) => id === layerId, missing);
  const drawings = new Map<number, string>();
  const { project } = map.map;
  return {
    key: partsDigest(parts, scale),
    parts,
    scale,
    bufferPixels: Math.max(drawn.bufferPixels, baseDrawing?.bufferPixels ?? 0),
    collides: drawn.collides || (baseDrawing?.collides ?? false),
    isDrawnAlike: drawn.isDrawnAlike && (baseDrawing?.isDrawnAlike ?? true),
    crowds: drawn.crowds,
    layers,
    codes: layers.map((_, index) => map.layers[index]?.layer.code ?? baseMapLayer.code),
    firstBaseLayer: own.length,
    owner: `p${project.id}`,
    epoch: facts.epoch,
    sources: [...new Set([...facts.mapSources, ...layers])],
    mapSources: facts.mapSources,
    visualized: facts.visualized,
    asOf: facts.asOf,
    complete: missing.length === 0 && map.complete && (base?.complete ?? true),
    missing,
    without: (layers) => {
      const left = new Set(layers.map(({ id }) => id));
      return planOf(all, (id) => !left.has(id) && shows(id), [...missing, ...layers]);
    },
    alone,
    drawingOf: (layerId) => {
      const known = drawings.get(layerId) ?? alone(layerId).key;
      drawings.set(layerId, known);
      return known;
    },
    projectId: project.id,
    maps: [map, ...(styledBase ? [styledBase] : [])].map((one) => ({ id: one.map.id, layers: idsOf(one) })),
  };
}

const withLayers = (map: StyledMap, shows: Shows): StyledMap => ({
  ...map,
  layers: map.layers.filter(({ layer }) => shows(layer.id)),
});

const idsOf = ({ layers }: StyledMap): number[] => layers.map(({ layer }) => layer.id);
