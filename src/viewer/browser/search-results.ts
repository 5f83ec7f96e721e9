import type { LayerTree, TreeItem } from "./layer-tree.js";
import type { FoundName, MapId, MapServer } from "./map-server.js";
import { matchedNames, matches } from "./matched-text.js";
import { type LatLon, parseCoordinates } from "./typed-coordinates.js";

/** What the search box finds for a text. */

export type SearchResult =
  | { readonly kind: "place"; readonly place: LatLon }
  | { readonly kind: "layer"; readonly layer: TreeItem }
  | {
      readonly kind: "object";
      readonly title: string;
      /** The value that was found, if it is not the title. */
      readonly value: string | undefined;
      /** What tells it apart from others of its name. */
      readonly detail: string | undefined;
      readonly layerTitle: string;
      readonly layer: string;
      readonly id: number;
    };

/** Results of each kind. */
const mostLayers = 5;
const mostObjects = 12;

/** What is found without the server: coordinates, and layers of the map. */
export function ownResults(text: string, tree: LayerTree): SearchResult[] {
  const place = parseCoordinates(text);
  const layers = tree.leaves
    .filter(({ title, element }) => matches(title, text) || element.code === text.trim())
    .slice(0, mostLayers);
  return [
    ...(place ? [{ kind: "place", place } as const] : []),
    ...layers.map((layer) => ({ kind: "layer", layer }) as const),
  ];
}

/** The objects that the server finds, and whether there was no time to look at all of them. @throws ServerError */
export async function objectResults(
  server: MapServer,
  mapId: MapId,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly objects: SearchResult[]; readonly isCut: boolean }> {
  // Layers of that name take places of the list.
  const { found, isCut } = await server.search(mapId, text, mostObjects + mostLayers, signal);
  const objects = found
    .filter((item): item is FoundName => item.type === "object")
    .slice(0, mostObjects)
    .map(({ name, value, detail, layer, layer_name, svc_id }) => {
      const matched = value === name ? name : matchedNames(value, text);
      return {
        kind: "object" as const,
        title: name || value,
        value: matched === name || (detail !== value && detail?.includes(matched)) ? undefined : matched,
        detail: detail === value ? undefined : detail,
        layerTitle: layer_name,
        layer,
        id: svc_id,
      };
    });
  return { objects, isCut };
}
