import type { PublicationElement } from "./state.js";

/** Which layers and folders of a map its publication tree ticks. */

/** Elements of one layer or folder, taken together. */
interface Standing {
  readonly ticked: boolean;
  /** Whether one of them has nothing under it: a folder's then stands for what the folder holds. */
  readonly alone: boolean;
}

/**
 * Tells of a layer or folder by its id whether the publication tree ticks it; undefined where it is selected as it is by
 * itself: without a publication tree, and in a folder whose element stands for what the folder holds. One of several
 * elements is enough. What has no element otherwise is not shown, so it is not selected.
 * @param parentOf the folder that a layer or folder lies in; null = the map
 */
export function selectionIn(
  publication: readonly PublicationElement[] | null,
  parentOf: (id: number) => number | null,
): (id: number) => boolean | undefined {
  if (!publication) return () => undefined;
  const parents = new Set(publication.map(({ parentId }) => parentId));
  const standings = new Map<number, Standing>();
  for (const { id, nodeId, selected } of publication) {
    const known = standings.get(nodeId);
    standings.set(nodeId, {
      ticked: selected || (known?.ticked ?? false),
      alone: !parents.has(id) || (known?.alone ?? false),
    });
  }
  const isStoodFor = (id: number): boolean => {
    const parent = parentOf(id);
    return parent !== null && (standings.get(parent)?.alone ?? isStoodFor(parent));
  };
  return (id) => standings.get(id)?.ticked ?? (isStoodFor(id) ? undefined : false);
}
