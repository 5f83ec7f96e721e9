import { LayerTree, type TreeElement, type TreeItem } from "../layer-tree.js";

/** What a map publishes, compared with what it is like in the console. Does not depend on the DOM. */

/** An element as `publish/` takes it. */
export interface PublishedElement {
  readonly id: number;
  readonly parent_id: number;
  readonly map_layer_id: number;
  readonly sort: number;
  readonly selected: boolean;
  readonly icon?: string;
}
export interface Trees {
  /** The full tree. */
  readonly all: readonly TreeElement[];
  /** The tree that is published now. */
  readonly published: readonly TreeElement[];
}
/**
 * What readers see: the same as here; less, or with other layers on ("behind"); or another order, which somebody has made
 * for them or which was changed here ("arranged").
 */
export type ReadersSee = "same" | "behind" | "arranged";

interface Place {
  readonly item: TreeItem;
  readonly id: number;
  /** Id of the folder that it is in; 0 = the map. */
  readonly parent: number;
}
/** Each folder before what is in it. */
const placesIn = (items: readonly TreeItem[], parent = 0): readonly Place[] =>
  items.flatMap((item) => [{ item, id: item.layerId, parent }, ...placesIn(item.children, item.layerId)]);

/** @param on ids of the layers that are on here */
export function readersSee({ all, published }: Trees, on: ReadonlySet<number>): ReadersSee {
  // A map whose layers are grouped shows itself, and has no tree to be saved.
  if (published.some(({ group_layers }) => group_layers === 1)) return "same";
  const tree = new LayerTree(published);
  const theirs = placesIn(tree.roots);
  const known = new Set(theirs.map(({ id }) => id));
  const here = placesIn(new LayerTree(all).roots);
  const kept = here.filter(({ id }) => known.has(id));
  const isSameOrder =
    kept.length === theirs.length &&
    kept.every(({ id, parent }, at) => id === theirs[at]!.id && parent === theirs[at]!.parent);
  if (!isSameOrder) return "arranged";
  const shown = new Set(tree.visible.map(({ layerId }) => layerId));
  const isSame =
    kept.length === here.length && shown.size === on.size && [...on].every((id) => shown.has(id));
  return isSame ? "same" : "behind";
}

/** The publication tree that shows readers what is here. @param on ids of the layers that are on here */
export function publicationOf(
  { all, published }: Trees,
  on: ReadonlySet<number>,
): readonly PublishedElement[] {
  const own = new Map(published.map((element) => [element.map_layer_id ?? element.id, element.icon]));
  // A folder that is off would keep its layers off.
  const isOn = ({ isFolder, layerId, children }: TreeItem): boolean =>
    isFolder ? children.some(isOn) : on.has(layerId);
  return placesIn(new LayerTree(all).roots).map(({ item, id, parent }, at) => {
    const icon = own.get(id);
    return {
      id,
      parent_id: parent,
      map_layer_id: id,
      sort: at + 1,
      selected: isOn(item) || (item.isFolder && item.children.length === 0 && item.element.selected),
      // Only what differs was chosen for readers.
      ...(icon && icon !== item.element.icon && { icon }),
    };
  });
}
