import type { TreeElement } from "../layer-tree.js";

/** What a map publishes, with what was switched on or off, and what was made, in the console. Does not depend on the DOM. */

/** An element as `publish/` takes it. */
export interface PublishedElement {
  readonly id: number;
  readonly parent_id: number;
  readonly map_layer_id: number;
  readonly sort: number;
  readonly selected: boolean;
}

const layerIdOf = ({ id, map_layer_id }: TreeElement): number => map_layer_id ?? id;

/**
 * The publication tree to be saved; undefined = the map publishes that already.
 * @param all the full tree
 * @param published the tree that is published now
 * @param on ids of the layers that are on; undefined = as at first
 * @param made ids of layers that were made here
 */
export function publicationOf(
  { all, published }: { readonly all: readonly TreeElement[]; readonly published: readonly TreeElement[] },
  on: ReadonlySet<number> | undefined,
  made: ReadonlySet<number>,
): readonly PublishedElement[] | undefined {
  const shown = new Set(published.map(layerIdOf));
  const missing = all.filter((element) => made.has(layerIdOf(element)) && !shown.has(layerIdOf(element)));
  if (on === undefined && missing.length === 0) return undefined;
  const free = Math.max(0, ...published.map(({ id }) => id));
  const added = missing.map((element, at) => ({
    ...element,
    id: free + at + 1,
    parent_id: 0,
    sort: element.sort - 1,
  }));
  // Above the others, as they are in the full tree.
  return [...added, ...published].map((element) => ({
    id: element.id,
    parent_id: element.parent_id,
    map_layer_id: layerIdOf(element),
    sort: element.sort,
    selected: on === undefined || element.type === "folder" ? element.selected : on.has(layerIdOf(element)),
  }));
}
