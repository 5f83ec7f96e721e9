import type { TreeItem } from "../layer-tree.js";

/** Where layers and folders of a tree are, and where they go. Does not depend on the DOM. */

/** Where an item goes: among the children of a parent, from 1. */
export interface TreePlace {
  /** 0 = the map. */
  readonly parentId: number;
  readonly sort: number;
}
export interface Move {
  readonly item: TreeItem;
  readonly place: TreePlace;
}
export type DropPlace = "before" | "after" | "inside";
/** Among the siblings; into the folder above; or behind the folder that it is in. */
export type Step = "up" | "down" | "in" | "out";

/** The item of an element. */
export function itemIn(roots: readonly TreeItem[], id: number): TreeItem | undefined {
  for (const item of roots) {
    const found = item.element.id === id ? item : itemIn(item.children, id);
    if (found) return found;
  }
  return undefined;
}

/** The siblings of an item, itself among them, from the top. */
export function siblingsOf(roots: readonly TreeItem[], item: TreeItem): readonly TreeItem[] {
  const find = (items: readonly TreeItem[]): readonly TreeItem[] | undefined =>
    items.includes(item)
      ? items
      : items.map(({ children }) => find(children)).find((found) => found !== undefined);
  return find(roots) ?? [];
}

/** Whether an item is another one, or lies in it. */
export const holds = (one: TreeItem, other: TreeItem): boolean =>
  one === other || one.children.some((child) => holds(child, other));

/** The items of these elements from the top of the tree, without those that lie in others of them. */
export const topmost = (roots: readonly TreeItem[], ids: ReadonlySet<number>): readonly TreeItem[] =>
  roots.flatMap((item) => (ids.has(item.element.id) ? [item] : topmost(item.children, ids)));

/** The layers among items and in them. */
export const layersIn = (items: readonly TreeItem[]): readonly TreeItem[] =>
  items.flatMap((item) => (item.isFolder ? layersIn(item.children) : [item]));

/** The item next to one that goes: behind it, before it, or around it. */
export function nextTo(
  roots: readonly TreeItem[],
  item: TreeItem,
  isStaying: (item: TreeItem) => boolean,
): TreeItem | undefined {
  const siblings = siblingsOf(roots, item);
  const at = siblings.indexOf(item);
  return (
    siblings.slice(at + 1).find(isStaying) ??
    siblings.slice(0, Math.max(0, at)).findLast(isStaying) ??
    itemIn(roots, item.element.parent_id)
  );
}

/** The places of all items while some of them are moved, one after the other. */
class Places {
  readonly moves: Move[] = [];
  private readonly lists = new Map<number, TreeItem[]>();
  private readonly parents = new Map<TreeItem, number>();

  constructor(roots: readonly TreeItem[]) {
    this.note(0, roots);
  }

  private note(parentId: number, items: readonly TreeItem[]): void {
    this.lists.set(parentId, [...items]);
    for (const item of items) {
      this.parents.set(item, parentId);
      if (item.isFolder) this.note(item.element.id, item.children);
    }
  }

  parentOf(item: TreeItem): number {
    return this.parents.get(item) ?? 0;
  }

  list(parentId: number): readonly TreeItem[] {
    return this.lists.get(parentId) ?? [];
  }

  /** @param at tells its place among those that are there without it */
  put(item: TreeItem, parentId: number, at: (others: readonly TreeItem[]) => number): void {
    const from = this.parentOf(item);
    const before = this.list(from).indexOf(item);
    this.lists.get(from)?.splice(before, 1);
    const list = this.lists.get(parentId) ?? [];
    const index = at(list);
    list.splice(index, 0, item);
    this.parents.set(item, parentId);
    if (from === parentId && before === index) return;
    this.moves.push({ item, place: { parentId, sort: index + 1 } });
  }

  /** Puts items behind one another, the first of them before or after another one, or all of them last in a folder. */
  putAll(items: readonly TreeItem[], target: TreeItem, where: DropPlace): void {
    if (items.some((item) => holds(item, target))) return;
    const moved = new Set(items);
    const parentId = where === "inside" ? target.element.id : this.parentOf(target);
    const staying = this.list(parentId).filter((item) => !moved.has(item));
    let previous =
      where === "inside" ? staying.at(-1) : where === "after" ? target : staying[staying.indexOf(target) - 1];
    for (const item of items) {
      const before = previous;
      this.put(item, parentId, (others) => (before ? others.indexOf(before) + 1 : 0));
      previous = item;
    }
  }
}

/** The moves by which items go, in their order, before or after another one, or into it. */
export function movesTo(
  roots: readonly TreeItem[],
  items: readonly TreeItem[],
  target: TreeItem,
  where: DropPlace,
): readonly Move[] {
  const places = new Places(roots);
  places.putAll(items, target, where);
  return places.moves;
}

/** The moves of a step that items make together: what meets the end of its siblings, or one that has, stays. */
export function movesBy(roots: readonly TreeItem[], items: readonly TreeItem[], step: Step): readonly Move[] {
  const places = new Places(roots);
  const moved = new Set(items);
  const parents = new Set(items.map((item) => places.parentOf(item)));
  for (const parent of parents) {
    const siblings = [...places.list(parent)];
    const group = siblings.filter((item) => moved.has(item));
    if (step === "up" || step === "down") {
      const by = step === "up" ? -1 : 1;
      for (const item of step === "up" ? group : group.toReversed()) {
        const at = places.list(parent).indexOf(item);
        const other = places.list(parent)[at + by];
        if (other && !moved.has(other)) places.put(item, parent, () => at + by);
      }
    } else {
      const above = siblings.slice(0, siblings.indexOf(group[0]!));
      const target =
        step === "in" ? above.findLast((item) => item.isFolder && !moved.has(item)) : itemIn(roots, parent);
      if (target) places.putAll(group, target, step === "in" ? "inside" : "after");
    }
  }
  return places.moves;
}
