import type { LayerNode, MapState, PublicationElement, TreeNode } from "./state.js";

/** The publication tree that a map was given. */

export interface Published {
  /** The layer or folder that the element is built on. */
  readonly node: TreeNode | LayerNode;
  /** Absent where the full tree is published. */
  readonly element?: PublicationElement;
}

/**
 * The elements from the top of the publication tree to its bottom, each before what it holds. Elements whose layer
 * is gone or not visible are left out; what they hold moves nowhere and goes with them.
 */
export function publicationElements(
  map: MapState,
  visible: (node: TreeNode | LayerNode) => boolean,
): Published[] {
  const children = new Map<number, PublicationElement[]>();
  for (const element of map.publication ?? []) {
    const siblings = children.get(element.parentId) ?? [];
    children.set(element.parentId, siblings);
    siblings.push(element);
  }
  const published: Published[] = [];
  const walk = (parent: number) => {
    for (const element of (children.get(parent) ?? []).sort((a, b) => a.sort - b.sort || a.id - b.id)) {
      const node = map.nodes.get(element.nodeId);
      if (!node || !visible(node)) continue;
      published.push({ element, node });
      if (element.id !== 0) walk(element.id);
    }
  };
  walk(0);
  return published;
}
