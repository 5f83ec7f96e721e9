import { isLayer, type LayerNode, type MapState, type TreeNode } from "../catalog/state.js";

/**
 * The layers that a tile shows, from the top of the tree to its bottom (the first is drawn last).
 *
 * @param ids layers and folders to narrow to (a folder = all its layers); undefined = everything that is
 *   selected together with all its parents
 * @param mayRead whether the caller may read a layer
 */
export function drawnLayers(
  map: MapState,
  ids: readonly number[] | undefined,
  mayRead: (layer: LayerNode) => boolean,
): LayerNode[] {
  const wanted = ids && new Set(ids);
  const drawn: LayerNode[] = [];
  const walk = (parent: number, chosen: boolean) => {
    for (const node of map.children.get(parent) ?? []) visit(node, chosen);
  };
  const visit = (node: TreeNode | LayerNode, chosen: boolean) => {
    const shown = wanted ? chosen || wanted.has(node.id) : chosen && node.selected;
    if (!isLayer(node)) walk(node.id, shown);
    else if (shown && mayRead(node)) drawn.push(node);
  };
  walk(0, wanted === undefined);
  return map.publication && !wanted ? drawn.filter(published(map)) : drawn;
}

/** What the publication tree leaves on by default, where a map has one. */
function published(map: MapState): (layer: LayerNode) => boolean {
  const elements = new Map(map.publication!.map((element) => [element.id, element]));
  const shown = new Set<number>();
  for (const element of map.publication!) {
    let on = true;
    for (let at: typeof element | undefined = element; at && on; at = elements.get(at.parentId))
      on = at.selected;
    if (on) shown.add(element.nodeId);
  }
  const isShown = (node: TreeNode | LayerNode | undefined): boolean =>
    node !== undefined &&
    (shown.has(node.id) || (node.parentId !== null && isShown(map.nodes.get(node.parentId))));
  return isShown;
}
