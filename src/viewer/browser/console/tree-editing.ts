import { button, h, icon } from "../dom.js";
import type { LayerTree, TreeItem } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
import type { Translate } from "../texts.js";
import type { TreeEditing, TreeRow } from "../tree-view.js";
import { type SelectableRow, SelectedRows } from "./selected-rows.js";
import { dragRows } from "./tree-drag.js";
import type { DropPlace, Step } from "./tree-moves.js";
import { isSame } from "./workplace.js";

/** Rows of the tree that can be chosen, selected, renamed, moved and deleted, by pointer and by keys. */

/** What is asked for is of the map whose row it was, which may no longer be the one that is shown. */
export interface TreeEditingEvents {
  /** @param isByKeys whether it was chosen without a pointer */
  choose(item: TreeItem, isByKeys: boolean): void;
  rename(map: MapId, item: TreeItem, name: string): void;
  remove(map: MapId, items: readonly TreeItem[]): void;
  /** @param isHeld whether it comes again because the key is held down */
  step(map: MapId, items: readonly TreeItem[], to: Step, isHeld: boolean): void;
  /** Moves items, in their order, before or after another one, or into a folder. */
  moveTo(map: MapId, items: readonly TreeItem[], target: TreeItem, where: DropPlace): void;
  openMenu(item: TreeItem, opener: HTMLElement): void;
  /** Whether something of the item is not saved. */
  hasDraft(item: TreeItem): boolean;
  /** The rows can be made anew: nothing is written or dragged any more. */
  settled(): void;
}

const steps: Readonly<Record<string, Step>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowRight: "in",
  ArrowLeft: "out",
};

/** A control of the row of an element: its place among those of the row; -1 = another thing of it. */
interface RowPlace {
  readonly id: number;
  readonly control: number;
}

const controlsOf = (row: HTMLElement): HTMLElement[] => [
  ...row.querySelectorAll<HTMLElement>("button, input"),
];

export class EditableTree implements TreeEditing {
  readonly empty: string;
  private readonly status = h("span", { class: "visually-hidden", role: "status" });
  private readonly selected: SelectedRows;
  private rows = new Map<number, TreeRow & SelectableRow>();
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
    this.selected = new SelectedRows(t, {
      rows: () => this.rows.values(),
      mark: (row) => this.markSelected(row),
      focus: (id) => this.focus(id),
      menu: (item, opener) => this.events().openMenu(item, opener),
    });
    this.selected.bar.append(this.status);
  }

  /** Says what has become of rows to who does not see them. */
  say(text: string): void {
    this.status.textContent = text;
  }

  get bar(): HTMLElement {
    return this.selected.bar;
  }

  /**
   * Forgets the rows: others will be made. A name that is being written is kept, and so is what is selected in the map.
   * @param map undefined = none is open
   */
  begin(map: MapId | undefined, tree?: LayerTree): void {
    this.endRename?.(true);
    this.rows.clear();
    this.selected.begin(tree, map !== undefined && isSame(this.map, map));
    this.map = map;
  }

  /** Whether rows must stay, for something is written or dragged there. */
  get isBusy(): boolean {
    return this.endRename !== undefined || this.isDragging;
  }

  /** What has the focus in the tree. */
  get focused(): RowPlace | undefined {
    for (const [id, { row }] of this.rows)
      if (row.contains(document.activeElement))
        return { id, control: controlsOf(row).indexOf(document.activeElement as HTMLElement) };
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
      { class: "tree-name tree-choose" },
      (event) => {
        // Clicks of keys have no number.
        if (!this.selected.press(event, item, row, this.chosen))
          this.events().choose(item, event.detail === 0);
      },
      item.title,
    );
    choose.addEventListener("dblclick", ({ shiftKey, ctrlKey, metaKey }) => {
      if (!shiftKey && !ctrlKey && !metaKey && !this.selected.has(item)) this.rename(map, item);
    });
    this.selected.selectable(choose, item);
    name.replaceWith(choose);
    input.setAttribute("aria-label", t("showLayer", { name: item.title }));
    const grip = h("span", { class: "tree-grip", "aria-hidden": "true", title: t("moveHint") }, icon("grip"));
    row.prepend(grip);
    row.addEventListener("keydown", (event) => this.key(event, map, { item, row }));
    dragRows(grip, row, {
      begun: () => {
        this.isDragging = true;
      },
      items: () => this.together(item),
      rowOf: (id) => this.rows.get(id),
      dropped: (target, where) => this.events().moveTo(map, this.together(item), target, where),
      ended: () => {
        this.isDragging = false;
        this.events().settled();
      },
    });
    const made = { ...parts, choose };
    this.rows.set(item.element.id, made);
    if (item.element.id === this.chosen) this.mark(this.chosen, true);
    this.markSelected(made);
  }

  /** What something that is done with an item is done with: all that is selected, if the item is. */
  together(item: TreeItem): readonly TreeItem[] {
    return this.selected.together(item);
  }

  /** Begins to select by plain presses. */
  select(item: TreeItem): void {
    this.selected.select(item);
  }

  clearSelection(): void {
    this.selected.clear();
  }

  /** Shows whether something of the item is not saved. */
  markDraft(item: TreeItem): void {
    const found = this.rows.get(item.element.id);
    if (found) this.describe(found);
  }

  private markSelected(found: SelectableRow): void {
    found.row.classList.toggle("selected", this.selected.has(found.item));
    this.describe(found);
  }

  private describe({ item, choose }: SelectableRow): void {
    const isDraft = this.events().hasDraft(item);
    const told = [
      ...(this.selected.has(item) ? [this.t("isSelected")] : []),
      ...(isDraft ? [this.t("notSaved")] : []),
    ].join(", ");
    const hint = this.t(isDraft ? "notSaved" : "renameHint");
    choose.classList.toggle("tree-draft", isDraft);
    // A long name is cut off in the row.
    choose.title = `${item.title}\n${hint}`;
    choose.setAttribute("aria-description", told || hint);
  }

  /** Marks the row of the item as the one that is worked on; undefined = none. */
  choose(item: TreeItem | undefined): void {
    this.mark(this.chosen, false);
    this.chosen = item?.element.id;
    this.mark(this.chosen, true);
  }

  /** Gives the focus to the row of an item. @param control which of its buttons and switches; default: its name */
  focus(id: number, control?: number): void {
    this.make(id);
    const row = this.rows.get(id);
    const wanted = row && control !== undefined ? controlsOf(row.row)[control] : undefined;
    (wanted ?? row?.choose)?.focus();
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

  private key(
    event: KeyboardEvent,
    map: MapId,
    { item, row }: { readonly item: TreeItem; readonly row: HTMLElement },
  ): void {
    const { key, altKey } = event;
    const step = altKey ? steps[key] : undefined;
    if (key === "F2") this.rename(map, item);
    else if (key === "Delete") this.events().remove(map, this.together(item));
    else if (step) this.events().step(map, this.together(item), step, event.repeat);
    else if (!this.selected.key(event, item, row, this.chosen)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
