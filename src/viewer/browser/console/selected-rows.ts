import { button, h, icon } from "../dom.js";
import type { LayerTree, TreeItem } from "../layer-tree.js";
import type { Translate } from "../texts.js";
import { topmost } from "./tree-moves.js";
import { TreeSelection } from "./tree-selection.js";

/** Rows of the tree that are selected, for something that is done with all of them. */

export interface SelectableRow {
  readonly item: TreeItem;
  readonly row: HTMLElement;
  readonly choose: HTMLButtonElement;
}

export interface SelectedRowsEvents {
  /** The rows that are made. */
  rows(): Iterable<SelectableRow>;
  /** Shows whether the row is selected. */
  mark(row: SelectableRow): void;
  focus(id: number): void;
  menu(item: TreeItem, opener: HTMLElement): void;
}

/** A finger that stays so long selects. */
const holdMs = 500;
/** Of a finger that does not stay. */
const mostPixels = 10;

export class SelectedRows {
  /** Says how many there are. */
  readonly bar: HTMLElement;
  private readonly count = h("span", { "aria-hidden": "true" });
  private readonly status = h("span", { class: "visually-hidden", role: "status" });
  private readonly tools: HTMLElement;
  private readonly selection = new TreeSelection();
  private tree: LayerTree | undefined;
  /** Whether a plain press selects, as without keys there is no other way. */
  private isSelecting = false;
  /** Whether the press that goes on has selected already. */
  private isHeld = false;

  constructor(
    private readonly t: Translate,
    private readonly events: SelectedRowsEvents,
  ) {
    const menu = button(
      { class: "text-button", "aria-expanded": "false" },
      () => {
        const [first] = this.items;
        if (first) events.menu(first, menu);
      },
      t("actions"),
    );
    const clear = button(
      { class: "icon-button small", "aria-label": t("clearSelection"), title: t("clearSelection") },
      () => this.clear(),
      icon("close"),
    );
    this.tools = h("div", { class: "selection-tools", hidden: true }, this.count, menu, clear);
    this.bar = h("div", { class: "selection-bar" }, this.status, this.tools);
  }

  /** Other rows will be made. @param isSameMap whether what is selected stays, as far as it is there */
  begin(tree: LayerTree | undefined, isSameMap: boolean): void {
    this.tree = tree;
    if (tree && isSameMap) this.selection.keep(new Set(tree.elements.map(({ id }) => id)));
    else this.selection.startAt(undefined);
    this.tell();
  }

  has({ element }: TreeItem): boolean {
    return this.selection.selected.has(element.id);
  }

  /** What something that is done with an item is done with: all that is selected, if the item is. */
  together(item: TreeItem): readonly TreeItem[] {
    return this.has(item) ? this.items : [item];
  }

  /** Begins to select by plain presses. */
  select(item: TreeItem): void {
    this.isSelecting = true;
    if (!this.has(item)) this.selection.toggle(item.element.id);
    this.changed();
  }

  clear(): void {
    const hadFocus = this.tools.contains(document.activeElement);
    const [first] = this.items;
    this.selection.startAt(undefined);
    this.changed();
    if (hadFocus && first) this.events.focus(first.element.id);
  }

  /** @param chosen id of the element that is worked on @returns whether the press was meant for the selection, and nothing else */
  press(
    event: MouseEvent,
    { element: { id } }: TreeItem,
    row: HTMLElement,
    chosen: number | undefined,
  ): boolean {
    // Not of keys, whose clicks have no number.
    if (this.isHeld && event.detail > 0) return true;
    if (event.shiftKey) this.selection.extend(seenIds(row), id, chosen);
    else if (event.ctrlKey || event.metaKey || this.isSelecting) this.toggle(id, chosen);
    else {
      this.selection.startAt(id);
      this.changed();
      return false;
    }
    this.changed();
    return true;
  }

  /** @returns whether the key was meant for the selection */
  key(
    event: KeyboardEvent,
    { element: { id } }: TreeItem,
    row: HTMLElement,
    chosen: number | undefined,
  ): boolean {
    const { key, shiftKey, altKey } = event;
    const isCommand = event.ctrlKey || event.metaKey;
    const by = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (altKey) return false;
    if (by !== undefined) {
      const order = seenIds(row);
      const next = order[order.indexOf(id) + by];
      if (next === undefined) return true;
      if (shiftKey) {
        if (this.selection.selected.size === 0) this.selection.startAt(id);
        this.selection.extend(order, next);
        this.changed();
      }
      this.events.focus(next);
      return true;
    }
    if (key === " " && isCommand) this.toggle(id, chosen);
    else if (key === "a" && isCommand) this.selection.select(seenIds(row));
    else if (key === "Escape" && this.selection.selected.size > 0) this.selection.startAt(id);
    else return false;
    this.changed();
    return true;
  }

  /** Lets a finger that stays on a row select it, and keeps the browser from what it does with such presses and keys. */
  selectable(choose: HTMLElement, item: TreeItem): void {
    choose.addEventListener("mousedown", (event) => {
      if (!event.shiftKey) return;
      // Else the text up to here would be selected.
      event.preventDefault();
      choose.focus();
    });
    choose.addEventListener("keyup", (event) => {
      if (event.key === " " && (event.ctrlKey || event.metaKey)) event.preventDefault();
    });
    let timer = 0;
    let from: PointerEvent | undefined;
    const end = () => {
      window.clearTimeout(timer);
      from = undefined;
    };
    choose.addEventListener("pointerdown", (event) => {
      this.isHeld = false;
      if (event.pointerType === "mouse") return;
      from = event;
      timer = window.setTimeout(() => {
        end();
        this.isHeld = true;
        this.select(item);
      }, holdMs);
    });
    choose.addEventListener("pointermove", ({ clientX, clientY }) => {
      if (from && Math.hypot(clientX - from.clientX, clientY - from.clientY) > mostPixels) end();
    });
    for (const name of ["pointerup", "pointercancel"]) choose.addEventListener(name, end);
    choose.addEventListener("contextmenu", (event) => {
      if (from || this.isHeld) event.preventDefault();
    });
  }

  /** From the top of the tree. */
  private get items(): readonly TreeItem[] {
    return topmost(this.tree?.roots ?? [], this.selection.selected);
  }

  /** What is worked on is selected, too. */
  private toggle(id: number, chosen: number | undefined): void {
    const isFirst = this.selection.selected.size === 0 && !this.isSelecting;
    if (isFirst && chosen !== undefined && chosen !== id) this.selection.toggle(chosen);
    this.selection.toggle(id);
  }

  private changed(): void {
    for (const made of this.events.rows())
      if (made.row.classList.contains("selected") !== this.has(made.item)) this.events.mark(made);
    this.tell();
  }

  private tell(): void {
    const n = this.selection.selected.size;
    if (n === 0) this.isSelecting = false;
    this.tools.hidden = n === 0;
    const text = n === 0 ? "" : this.t("selectedCount", { n });
    if (this.status.textContent === text) return;
    this.count.textContent = text;
    this.status.textContent = text;
  }
}

/** Ids of the elements whose rows are not folded away, from the top. */
function seenIds(row: HTMLElement): readonly number[] {
  const rows = row.closest(".tree")?.querySelectorAll<HTMLElement>(".tree-row") ?? [];
  return Array.from(rows).flatMap((one) => (one.closest("[hidden]") ? [] : Number(one.dataset.layer)));
}
