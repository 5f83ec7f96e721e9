import type { PublicationElement } from "./state.js";

/** Which layers and folders of a map are selected in its publication tree. */

/** All elements of one layer or folder. */
interface NodeElements {
  /** Whether any of them is selected. */
  readonly selected: boolean;
  /** Whether any of them has no children. A folder's element without children stands for the folder's contents. */
  readonly isLeaf: boolean;
}

/**
 * Returns a function of a layer's or folder's id: whether the publication tree selects it. undefined means that the node's
 * own `selected` applies: without a publication tree, and in a folder whose element stands for its contents. Other nodes
 * without an element are not shown, so they are not selected.
 * @param parentOf id of the parent folder; null = the map
 */
export function selectionIn(
  publication: readonly PublicationElement[] | null,
  parentOf: (id: number) => number | null,
): (id: number) => boolean | undefined {
  if (!publication) return () => undefined;
  const parents = new Set(publication.map(({ parentId }) => parentId));
  const elements = new Map<number, NodeElements>();
  for (const { id, nodeId, selected } of publication) {
    const known = elements.get(nodeId);
    elements.set(nodeId, {
      selected: selected || (known?.selected ?? false),
      isLeaf: !parents.has(id) || (known?.isLeaf ?? false),
    });
  }
  const isInLeaf = (id: number): boolean => {
    const parent = parentOf(id);
    return parent !== null && (elements.get(parent)?.isLeaf ?? isInLeaf(parent));
  };
  return (id) => elements.get(id)?.selected ?? (isInLeaf(id) ? undefined : false);
}
