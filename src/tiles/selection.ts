import { publishedSelection } from "../catalog/publication.js";
import { isLayer, type LayerNode, type MapState, type TreeNode } from "../catalog/state.js";

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
  const drawn: LayerNode[] = [];
  const walk = (parent: number, inherited: boolean) => {
    for (const node of map.children.get(parent) ?? []) visit(node, inherited);
  };
  const visit = (node: TreeNode | LayerNode, inherited: boolean) => {
    const selected = requested ? inherited || requested.has(node.id) : inherited && node.selected;
    if (!isLayer(node)) walk(node.id, selected);
    else if (selected && node.renderType === 0 && mayRead(node)) drawn.push(node);
  };
  walk(0, !requested);
  return drawn;
}
