import { publishedSelection } from "../catalog/publication.js";
import { isLayer, type LayerNode, type MapState } from "../catalog/state.js";
import { onceForEach } from "../once.js";

/**
 * The layers that a tile shows, from the top of the layer tree to the bottom; the first is drawn last. Those that clients draw
 * as vectors are never among them.
 *
 * @param ids requested layers and folders (a folder = all its layers); undefined, or with the map's own = all layers that
 *   are selected together with all their parents, in the publication tree if the map has one
 * @param mayRead whether the caller may read a layer
 */
export function drawnLayers(
  map: MapState,
  ids: readonly number[] | undefined,
  mayRead: (layer: LayerNode) => boolean,
): LayerNode[] {
  const requested =
    ids && !ids.includes(map.id) ? new Set(ids) : map.publication && publishedSelection(map, map.publication);
  return placedLayers(map).flatMap(({ layer, isSelected, parents }) => {
    const isShown = requested
      ? requested.has(layer.id) || parents.some((id) => requested.has(id))
      : isSelected;
    return isShown && mayRead(layer) ? [layer] : [];
  });
}

interface PlacedLayer {
  readonly layer: LayerNode;
  /** Whether it is selected together with all its parents. */
  readonly isSelected: boolean;
  /** Ids of the folders that it is in. */
  readonly parents: readonly number[];
}

/** In the order of the tree, which may have many times as many folders. Each tile that is planned asks for them. */
const placedLayers = onceForEach((map: MapState): readonly PlacedLayer[] => {
  const placed: PlacedLayer[] = [];
  const walk = (parents: readonly number[], inherited: boolean) => {
    for (const node of map.children.get(parents[0] ?? 0) ?? []) {
      const isSelected = inherited && node.selected;
      if (!isLayer(node)) walk([node.id, ...parents], isSelected);
      else if (node.renderType === 0) placed.push({ layer: node, isSelected, parents });
    }
  };
  walk([], true);
  return placed;
});
