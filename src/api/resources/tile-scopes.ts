import { hasObjects, isLayer, type LayerNode, localName, type MapState } from "../../catalog/state.js";
import { toDegrees } from "../../geo/envelope.js";
import { maxZoom } from "../../geo/tile.js";
import { allZooms, type ZoomRange } from "../../tiles/vector/zooms.js";
import type { Services } from "../services.js";

/** Where and at which zooms layers are on tiles, for TileJSON. */

/** West, south, east, north in degrees. */
export type Bounds = readonly [number, number, number, number];

const mostLatitude = 85.0511287798066;
export const world: Bounds = [-180, -mostLatitude, 180, mostLatitude];

export interface LayerScope {
  readonly layer: LayerNode;
  /** What contains its objects, or the image; null = it has none. */
  readonly bounds: Bounds | null;
  readonly zooms: ZoomRange;
}

/** Of maps with more layers zooms are not looked for, as each style is compiled for it. */
const mostCompiled = 500;

/** Bounds are those of the spatial index, which a node keeps in mind: no objects are read. */
export async function layerScopes(
  services: Pick<Services, "versions" | "vectorPlanner">,
  map: MapState,
  layers: readonly LayerNode[],
): Promise<readonly LayerScope[]> {
  const { versions, vectorPlanner } = services;
  const tables = layers.map((layer) => tableOf(map, layer));
  const tracked = await versions.track([...new Set(tables.filter((id) => id !== undefined))]);
  await versions.locate(tracked);
  const extents = new Map(tracked.map(({ id, extent }) => [id, extent]));
  const zooms = layers.length > mostCompiled ? [] : await vectorPlanner.zoomsOf(map, layers);
  return layers.map((layer, index): LayerScope => {
    const { source, raster } = layer;
    if (raster) {
      const { west, south, east, north } = raster.box;
      return { layer, bounds: within([west, south, east, north]), zooms: zooms[index] ?? allZooms };
    }
    if (source && "url" in source)
      return { layer, bounds: world, zooms: { min: source.minZoom ?? 0, max: maxZoom } };
    const extent = extents.get(tables[index] ?? 0);
    const bounds =
      extent === undefined
        ? world
        : extent && within([...toDegrees(extent[0], extent[1]), ...toDegrees(extent[2], extent[3])]);
    return { layer, bounds, zooms: zooms[index] ?? allZooms };
  });
}

/** The layer whose table has the objects: of a view that which it is a view of. */
export function tableOf(map: MapState, layer: LayerNode): number | undefined {
  let found: LayerNode = layer;
  while (found.type === "virtual") {
    const source = map.nodes.get(found.sourceId ?? 0);
    if (!source || !isLayer(source)) return undefined;
    found = source;
  }
  return hasObjects(found) ? found.id : undefined;
}

/** Bounds on the one world that TileJSON has; what goes beyond its edges is anywhere in the east and west. */
function within([west, south, east, north]: Bounds): Bounds {
  const clamp = (latitude: number) => Math.max(-mostLatitude, Math.min(mostLatitude, latitude));
  const [left, right] = west < -180 || east > 180 ? [-180, 180] : [west, east];
  return [
    outward(left, Math.floor),
    outward(clamp(south), Math.floor),
    outward(right, Math.ceil),
    outward(clamp(north), Math.ceil),
  ];
}

/** To some 10 cm, so that nothing is cut off. */
const outward = (degrees: number, round: (number: number) => number): number =>
  Math.abs(degrees) === mostLatitude ? degrees : round(degrees * 1e6) / 1e6;

/** What contains all of them; null when there is nothing. */
export function unionOf(all: readonly (Bounds | null)[]): Bounds | null {
  const some = all.filter((one) => one !== null);
  if (some.length === 0) return null;
  const side = (at: 0 | 1 | 2 | 3, pick: (...numbers: number[]) => number) =>
    some.reduce((found, one) => pick(found, one[at]), some[0]![at]);
  return [side(0, Math.min), side(1, Math.min), side(2, Math.max), side(3, Math.max)];
}

/** Longitude, latitude and the zoom at which the bounds fit into some 512 pixels. */
export function centerOf([west, south, east, north]: Bounds): readonly [number, number, number] {
  const size = Math.max(east - west, north - south, 360 / 2 ** maxZoom);
  const zoom = Math.max(0, Math.min(14, Math.floor(Math.log2(720 / size))));
  const middle = (one: number, other: number) => Number(((one + other) / 2).toFixed(5));
  return [middle(west, east), middle(south, north), zoom];
}

/** The layers as TileJSON tells of them, from the bottom to the top. */
export const describedScopes = (map: MapState, scopes: readonly LayerScope[], language: string | undefined) =>
  scopes.toReversed().map(({ layer, bounds, zooms }) => {
    const main = map.project.languages[0];
    return {
      id: layer.code,
      layer_id: layer.id,
      name: localName(layer, language ?? main, main) || layer.code,
      bounds,
      minzoom: zooms.min,
      maxzoom: zooms.max,
    };
  });

const boundsSchema = {
  type: "array",
  items: { type: "number" },
  minItems: 4,
  maxItems: 4,
};

export const scopesSchema = {
  type: "array",
  description: "The layers that are drawn, from the bottom to the top.",
  items: {
    type: "object",
    required: ["id", "layer_id", "name", "bounds", "minzoom", "maxzoom"],
    properties: {
      id: { type: "string", description: "Code of the layer" },
      layer_id: { type: "integer" },
      name: { type: "string" },
      bounds: {
        anyOf: [boundsSchema, { type: "null" }],
        description:
          "West, south, east, north in degrees, of all objects or a little more; null = there are none",
      },
      minzoom: { type: "integer", description: "Lowest zoom at which its style draws something" },
      maxzoom: { type: "integer" },
    },
  },
};
