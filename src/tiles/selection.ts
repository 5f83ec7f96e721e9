import { publishedSelection } from "../catalog/publication.js";
import { isLayer, type LayerNode, type MapState, type TreeNode } from "../catalog/state.js";

/**
 * The layers that a tile shows, from the top of the map's tree to its bottom (the first is drawn last).
 *
 * @param ids layers and folders to narrow to (a folder = all its layers); undefined = everything that is selected
 *   together with all its parents, in the publication tree where the map was given one
 * @param mayRead whether the caller may read a layer
 */
export function drawnLayers(
  map: MapState,
  ids: readonly number[] | undefined,
  mayRead: (layer: LayerNode) => boolean,
): LayerNode[] {
  const wanted = ids ? new Set(ids) : map.publication && publishedSelection(map, map.publication);
  const drawn: LayerNode[] = [];
  const walk = (parent: number, chosen: boolean) => {
    for (const node of map.children.get(parent) ?? []) visit(node, chosen);
  };
  const visit = (node: TreeNode | LayerNode, chosen: boolean) => {
    const shown = wanted ? chosen || wanted.has(node.id) : chosen && node.selected;
    if (!isLayer(node)) walk(node.id, shown);
    else if (shown && mayRead(node)) drawn.push(node);
  };
  walk(0, !wanted);
  return drawn;
}
