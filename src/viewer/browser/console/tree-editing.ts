import { button, h, icon } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import type { Translate } from "../texts.js";
import type { TreeEditing, TreeRow } from "../tree-view.js";

/** Rows of the tree that can be chosen, renamed, moved and deleted, by pointer and by keys. */

/** Where an item goes: among the children of a parent, from 1. */
export interface TreePlace {
  /** 0 = the map. */
  readonly parentId: number;
  readonly sort: number;
}

export interface TreeEditingEvents {
  choose(item: TreeItem): void;
  rename(item: TreeItem, name: string): void;
  remove(item: TreeItem): void;
  /** Moves an item up (-1) or down (1) among its siblings. */
  step(item: TreeItem, by: -1 | 1): void;
  /** Moves an item before or after another one, or into a folder. */
  moveTo(item: TreeItem, target: TreeItem, where: DropPlace): void;
}
export type DropPlace = "before" | "after" | "inside";

/** A press that moves less is a click. */
const leastPixels = 4;

export class EditableTree implements TreeEditing {
  readonly empty: string;
  private rows = new Map<number, TreeRow & { readonly choose: HTMLButtonElement }>();
  private chosen: number | undefined;

  constructor(
    private readonly t: Translate,
    private readonly events: TreeEditingEvents,
  ) {
    this.empty = t("emptyMapHint");
  }

  made(parts: TreeRow): void {
    const { item, row, name, input } = parts;
    const { t } = this;
    const choose = button(
      { class: "tree-name tree-choose", title: t("renameHint") },
      () => this.events.choose(item),
      item.title,
    );
    choose.addEventListener("dblclick", () => this.rename(item));
    name.replaceWith(choose);
    input.setAttribute("aria-label", t("showLayer", { name: item.title }));
    const grip = h("span", { class: "tree-grip", "aria-hidden": "true", title: t("moveHint") }, icon("grip"));
    row.prepend(grip);
    row.dataset.layer = String(item.element.id);
    row.addEventListener("keydown", (event) => this.key(event, item));
    this.drag(grip, row, item);
    this.rows.set(item.element.id, { ...parts, choose });
    this.mark();
  }

  /** Marks the row of the item as the one that is worked on; undefined = none. */
  choose(item: TreeItem | undefined): void {
    this.chosen = item?.element.id;
    this.mark();
  }

  /** Gives the focus to the row of an item. */
  focus(id: number): void {
    this.rows.get(id)?.choose.focus();
  }

  private mark(): void {
    for (const [id, { row, choose }] of this.rows) {
      row.classList.toggle("chosen", id === this.chosen);
      if (id === this.chosen) choose.setAttribute("aria-current", "true");
      else choose.removeAttribute("aria-current");
    }
  }

  /** Writes the name in its place. */
  rename(item: TreeItem): void {
    const found = this.rows.get(item.element.id);
    if (!found?.choose.isConnected) return;
    const { choose } = found;
    const field = h("input", {
      class: "field tree-rename",
      value: item.element.name,
      placeholder: item.element.code,
      maxlength: 200,
      "aria-label": this.t("renameLayer", { name: item.title }),
    });
    let isOpen = true;
    const end = (isKept: boolean) => {
      if (!isOpen) return;
      isOpen = false;
      field.replaceWith(choose);
      const name = field.value.trim();
      if (isKept && name !== item.element.name) this.events.rename(item, name);
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      end(event.key === "Enter");
      choose.focus();
    });
    field.addEventListener("blur", () => end(true));
    choose.replaceWith(field);
    field.focus();
    field.select();
  }

  private key(event: KeyboardEvent, item: TreeItem): void {
    const { key, altKey } = event;
    if (key === "F2") this.rename(item);
    else if (key === "Delete") this.events.remove(item);
    else if (altKey && key === "ArrowUp") this.events.step(item, -1);
    else if (altKey && key === "ArrowDown") this.events.step(item, 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private drag(grip: HTMLElement, row: HTMLElement, item: TreeItem): void {
    let from: number | undefined;
    let target: { readonly item: TreeItem; readonly where: DropPlace } | undefined;
    const unmark = () => {
      for (const marked of document.querySelectorAll<HTMLElement>("[data-drop]")) delete marked.dataset.drop;
    };
    const end = (isDropped: boolean) => {
      if (from === undefined) return;
      from = undefined;
      row.classList.remove("dragged");
      unmark();
      if (isDropped && target) this.events.moveTo(item, target.item, target.where);
      target = undefined;
    };
    grip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = event.clientY;
      grip.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    const follow = (event: PointerEvent) => {
      if (from === undefined || Math.abs(event.clientY - from) < leastPixels) return;
      row.classList.add("dragged");
      unmark();
      const below = document.elementFromPoint(row.getBoundingClientRect().left + 40, event.clientY);
      const over = below?.closest<HTMLElement>(".tree-row");
      const found = over ? this.rows.get(Number(over.dataset.layer)) : undefined;
      target = found ? this.targetAt(found, event.clientY, item) : undefined;
      if (target && over) over.dataset.drop = target.where;
    };
    grip.addEventListener("pointermove", follow);
    grip.addEventListener("pointerup", (event) => {
      follow(event);
      end(true);
    });
    grip.addEventListener("pointercancel", () => end(false));
    grip.addEventListener("lostpointercapture", () => end(false));
  }

  private targetAt({ item, row }: TreeRow, y: number, dragged: TreeItem) {
    if (holds(dragged, item)) return undefined;
    const { top, height } = row.getBoundingClientRect();
    const part = (y - top) / height;
    const where: DropPlace =
      item.isFolder && part > 0.3 && part < 0.7 ? "inside" : part < 0.5 ? "before" : "after";
    return { item, where };
  }
}

/** Whether an item is another one, or lies in it. */
const holds = (one: TreeItem, other: TreeItem): boolean =>
  one === other || one.children.some((child) => holds(child, other));

/** The siblings of an item, itself among them, from the top. */
export function siblingsOf(roots: readonly TreeItem[], item: TreeItem): readonly TreeItem[] {
  const find = (items: readonly TreeItem[]): readonly TreeItem[] | undefined =>
    items.includes(item)
      ? items
      : items.map(({ children }) => find(children)).find((found) => found !== undefined);
  return find(roots) ?? [];
}

/** The place of an item that goes before or after another one, or into it; undefined = it is there already. */
export function placeAt(
  roots: readonly TreeItem[],
  item: TreeItem,
  target: TreeItem,
  where: DropPlace,
): TreePlace | undefined {
  if (where === "inside") return { parentId: target.element.id, sort: target.children.length + 1 };
  const siblings = siblingsOf(roots, target);
  const others = siblings.filter((one) => one !== item);
  const at = others.indexOf(target) + (where === "after" ? 1 : 0);
  if (siblings.indexOf(item) === at) return undefined;
  return { parentId: target.element.parent_id, sort: at + 1 };
}
