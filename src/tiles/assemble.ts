import type { LayerVersion } from "../changes/layer-version.js";
import type { ImagePart } from "./image-part.js";
import { baseMapLayer, type MissingLayer } from "./missing-layer.js";
import {
  buildParts,
  type MapDrawing,
  namesUnder,
  type PartsOptions,
  type Plan,
  partsDigest,
  prepareParts,
  type StyledMap,
} from "./plan.js";

/** Puts the plan of images together from maps with compiled styles, and plans with fewer layers. */

export interface Assembly
  extends Omit<PartsOptions, "isBase" | "collides" | "names">,
    Pick<Plan, "epoch" | "mapSources" | "visualized" | "asOf"> {
  readonly map: StyledMap;
  /** The built-in base map. */
  readonly base: StyledMap | undefined;
  /** The base map of the project. */
  readonly baseImage: ImagePart | undefined;
  /** Versions of the layers of both maps. */
  readonly versions: readonly LayerVersion[];
}

/** Whether a layer is drawn. */
type Shows = (layerId: number) => boolean;

/** The plan. What takes long of its maps should have been made by `prepareParts`. */
export function assemble(all: Assembly): Plan {
  const missing = [...all.map.missing, ...(all.base?.missing ?? []).map(asBase)];
  return planOf(all, () => true, missing);
}

/** Layers of the base map are not named one by one. */
const asBase = (layer: MissingLayer): MissingLayer => ({ ...layer, code: baseMapLayer.code });

function planOf(all: Assembly, shows: Shows, missing: readonly MissingLayer[]): Plan {
  const { base, baseImage, scale, begin, ...facts } = all;
  const map = withLayers(all.map, shows);
  const styledBase = base && withLayers(base, shows);
  const named = styledBase && namesUnder(map, styledBase);
  const drawn = buildParts(map, { scale, begin, isBase: false, names: named?.names });
  const baseDrawing = styledBase && buildParts(named?.base ?? styledBase, { scale, begin, isBase: true });
  const image =
    baseImage && shows(baseMapLayer.id)
      ? ([{ kind: "image", image: baseImage, layerId: baseMapLayer.id }] as const)
      : [];
  const parts = [...image, ...(baseDrawing?.parts ?? []), ...drawn.parts];
  const layers = all.versions.filter(({ id }) => shows(id));
  const own = idsOf(map);
  const { project } = map.map;
  const drawings = new Map<number, string>();
  const drawingOf = (layerId: number) => {
    // As they are drawn among the others, which is made.
    const alone = (styled: StyledMap, { collides }: MapDrawing, isBase: boolean) => {
      const one = { ...withLayers(styled, (id) => id === layerId), properties: {} };
      return buildParts(one, { scale, begin, isBase, collides }).parts;
    };
    const ofBase = styledBase && baseDrawing ? alone(styledBase, baseDrawing, true) : [];
    const ofImage = layerId === baseMapLayer.id ? image : [];
    const digest = partsDigest([...ofImage, ...ofBase, ...alone(map, drawn, false)], scale);
    // More of it is read then.
    return named ? `${digest} names` : digest;
  };
  let last: { readonly key: string; readonly plan: Promise<Plan> } | undefined;
  return {
    key: partsDigest(parts, scale),
    parts,
    scale,
    bufferPixels: Math.max(drawn.bufferPixels, baseDrawing?.bufferPixels ?? 0),
    reachPixels: drawn.bufferPixels,
    collides: drawn.collides,
    isDrawnAlike: drawn.isDrawnAlike && (baseDrawing?.isDrawnAlike ?? true),
    density: drawn.density,
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
      // The last one is kept: all tiles ask for it while a layer cannot be drawn.
      const key = layers.map(({ id, cause }) => `${id} ${cause}`).join();
      if (last?.key !== key) {
        const left = new Set(layers.map(({ id }) => id));
        const shown: Shows = (id) => !left.has(id) && shows(id);
        last = { key, plan: prepared(all, shown, [...missing, ...layers]) };
      }
      return last.plan;
    },
    alone: (layerId) =>
      prepared({ ...all, map: { ...all.map, properties: {} } }, (id) => id === layerId, missing),
    drawingOf: (layerId) => {
      const known = drawings.get(layerId) ?? drawingOf(layerId);
      drawings.set(layerId, known);
      return known;
    },
    projectId: project.id,
    maps: [map, ...(styledBase ? [styledBase] : [])].map((one) => ({ id: one.map.id, layers: idsOf(one) })),
  };
}

/** A plan whose layers may be drawn in another way than in the one that is made: markers have no other look without labels. */
async function prepared(all: Assembly, shows: Shows, missing: readonly MissingLayer[]): Promise<Plan> {
  const pause = all.begin();
  for (const one of all.base ? [all.map, all.base] : [all.map])
    await prepareParts(withLayers(one, shows), { atAntimeridian: false }, pause);
  return planOf(all, shows, missing);
}

const withLayers = (map: StyledMap, shows: Shows): StyledMap => ({
  ...map,
  layers: map.layers.filter(({ layer }) => shows(layer.id)),
});

const idsOf = ({ layers }: StyledMap): number[] => layers.map(({ layer }) => layer.id);
