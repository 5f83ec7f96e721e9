import { button, h, icon } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
import type { Translate } from "../texts.js";
import type { TreeEditing, TreeRow } from "../tree-view.js";

/** Rows of the tree that can be chosen, renamed, moved and deleted, by pointer and by keys. */

/** Where an item goes: among the children of a parent, from 1. */
export interface TreePlace {
  /** 0 = the map. */
  readonly parentId: number;
  readonly sort: number;
}

/** What is asked for is of the map whose row it was, which may no longer be the one that is shown. */
export interface TreeEditingEvents {
  choose(item: TreeItem): void;
  rename(map: MapId, item: TreeItem, name: string): void;
  remove(map: MapId, item: TreeItem): void;
  /** @param isHeld whether it comes again because the key is held down */
  step(map: MapId, item: TreeItem, to: Step, isHeld: boolean): void;
  /** Moves an item before or after another one, or into a folder. */
  moveTo(map: MapId, item: TreeItem, target: TreeItem, where: DropPlace): void;
  /** Whether something of the item is not saved. */
  hasDraft(item: TreeItem): boolean;
  /** The rows can be made anew: nothing is written or dragged any more. */
  settled(): void;
}
export type DropPlace = "before" | "after" | "inside";
/** Among the siblings; into the folder above; or behind the folder that it is in. */
export type Step = "up" | "down" | "in" | "out";

/** A press that moves less is a click. */
const leastPixels = 4;
const steps: Readonly<Record<string, Step>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowRight: "in",
  ArrowLeft: "out",
};

export class EditableTree implements TreeEditing {
  readonly empty: string;
  private rows = new Map<number, TreeRow & { readonly choose: HTMLButtonElement }>();
  private make: (id: number) => void = () => undefined;
  private chosen: number | undefined;
  private map: MapId | undefined;
  /** Ends the writing of a name. */
  private endRename: ((isKept: boolean) => void) | undefined;
  private isDragging = false;

  constructor(
    private readonly t: Translate,
    private readonly events: () => TreeEditingEvents,
  ) {
    this.empty = t("emptyMapHint");
  }

  /** Forgets the rows: others will be made. A name that is being written is kept. @param map undefined = none is open */
  begin(map: MapId | undefined): void {
    this.endRename?.(true);
    this.rows.clear();
    this.map = map;
  }

  /** Whether rows must stay, for something is written or dragged there. */
  get isBusy(): boolean {
    return this.endRename !== undefined || this.isDragging;
  }

  /** The element whose row has the focus. */
  get focused(): number | undefined {
    for (const [id, { row }] of this.rows) if (row.contains(document.activeElement)) return id;
    return undefined;
  }

  begun(make: (id: number) => void): void {
    this.make = make;
  }

  made(parts: TreeRow): void {
    const { item, row, name, input } = parts;
    const { t, map } = this;
    if (!map) return;
    const choose = button(
      { class: "tree-name tree-choose", title: t("renameHint") },
      () => this.events().choose(item),
      item.title,
    );
    choose.addEventListener("dblclick", () => this.rename(map, item));
    name.replaceWith(choose);
    input.setAttribute("aria-label", t("showLayer", { name: item.title }));
    const grip = h("span", { class: "tree-grip", "aria-hidden": "true", title: t("moveHint") }, icon("grip"));
    row.prepend(grip);
    row.dataset.layer = String(item.element.id);
    row.addEventListener("keydown", (event) => this.key(event, map, item));
    this.drag(grip, row, { map, item });
    this.rows.set(item.element.id, { ...parts, choose });
    if (item.element.id === this.chosen) this.mark(this.chosen, true);
    this.markDraft(item);
  }

  /** Shows whether something of the item is not saved. */
  markDraft(item: TreeItem): void {
    const choose = this.rows.get(item.element.id)?.choose;
    if (!choose) return;
    const isDraft = this.events().hasDraft(item);
    choose.classList.toggle("tree-draft", isDraft);
    if (isDraft) choose.setAttribute("aria-description", this.t("notSaved"));
    else choose.removeAttribute("aria-description");
    choose.title = isDraft ? this.t("notSaved") : this.t("renameHint");
  }

  /** Marks the row of the item as the one that is worked on; undefined = none. */
  choose(item: TreeItem | undefined): void {
    this.mark(this.chosen, false);
    this.chosen = item?.element.id;
    this.mark(this.chosen, true);
  }

  /** Gives the focus to the row of an item. */
  focus(id: number): void {
    this.make(id);
    this.rows.get(id)?.choose.focus();
  }

  private mark(id: number | undefined, isChosen: boolean): void {
    const found = id === undefined ? undefined : this.rows.get(id);
    found?.row.classList.toggle("chosen", isChosen);
    if (isChosen) found?.choose.setAttribute("aria-current", "true");
    else found?.choose.removeAttribute("aria-current");
  }

  /** Writes the name in its place. */
  rename(map: MapId, item: TreeItem): void {
    this.make(item.element.id);
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
    const end = (isKept: boolean) => {
      if (this.endRename !== end) return;
      this.endRename = undefined;
      field.replaceWith(choose);
      const name = field.value.trim();
      if (isKept && name !== item.element.name) this.events().rename(map, item, name);
      this.events().settled();
    };
    this.endRename?.(true);
    this.endRename = end;
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

  private key(event: KeyboardEvent, map: MapId, item: TreeItem): void {
    const { key, altKey } = event;
    const step = altKey ? steps[key] : undefined;
    if (key === "F2") this.rename(map, item);
    else if (key === "Delete") this.events().remove(map, item);
    else if (step) this.events().step(map, item, step, event.repeat);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private drag(
    grip: HTMLElement,
    row: HTMLElement,
    { map, item }: { readonly map: MapId; readonly item: TreeItem },
  ): void {
    let from: number | undefined;
    let target: { readonly item: TreeItem; readonly where: DropPlace } | undefined;
    const unmark = () => {
      for (const marked of document.querySelectorAll<HTMLElement>("[data-drop]")) delete marked.dataset.drop;
    };
    const end = (isDropped: boolean) => {
      if (from === undefined) return;
      from = undefined;
      this.isDragging = false;
      row.classList.remove("dragged");
      unmark();
      if (isDropped && target) this.events().moveTo(map, item, target.item, target.where);
      target = undefined;
      this.events().settled();
    };
    grip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = event.clientY;
      this.isDragging = true;
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

/** Where a step leads; undefined = nowhere. */
export function stepTo(
  roots: readonly TreeItem[],
  item: TreeItem,
  to: Step,
): { readonly target: TreeItem; readonly where: DropPlace } | undefined {
  const siblings = siblingsOf(roots, item);
  const at = siblings.indexOf(item);
  const parent = item.element.parent_id;
  const target = {
    up: siblings[at - 1],
    down: siblings[at + 1],
    in: siblings.slice(0, at).findLast(({ isFolder }) => isFolder),
    out: itemIn(roots, parent),
  }[to];
  const where = { up: "before", down: "after", in: "inside", out: "after" } as const;
  return target && { target, where: where[to] };
}

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
