import { hasObjects, type TreeItem } from "../layer-tree.js";
import type { LayersPanel } from "../layers-panel.js";
import type { MapId } from "../map-server.js";
import type { MenuAction, PopupMenu } from "../popup-menu.js";
import { confirmed } from "./confirmed.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";
import type { MapEdits } from "./map-edits.js";
import { newKey } from "./new-key.js";
import { hasOwnObjects } from "./object-editing.js";
import type { OpenMap } from "./open-map.js";
import { removalQuestion } from "./removal-question.js";
import { StyleActions } from "./style-actions.js";
import type { StyleCopies } from "./style-copies.js";
import type { StylePanel } from "./style-panel.js";
import type { EditableTree, TreeEditingEvents } from "./tree-editing.js";
import {
  type DropPlace,
  itemIn,
  type Move,
  movesBy,
  movesTo,
  nextTo,
  type Step,
  siblingsOf,
  topmost,
} from "./tree-moves.js";
import type { Turns } from "./turns.js";
import { stepsOf, withEachTold } from "./with-each.js";
import { isSame, type Workplace } from "./workplace.js";

export interface TreeActionsParts {
  readonly place: Workplace;
  readonly map: OpenMap;
  readonly layers: LayersPanel;
  readonly rows: EditableTree;
  readonly menu: PopupMenu;
  readonly style: StylePanel;
  readonly copies: StyleCopies;
  readonly changes: MapEdits;
  readonly turns: Turns;
  readonly dialogs: Dialogs;
  /** Shows who sees a layer. @param layer its code */
  readonly whoSees: (map: MapId, layer: string) => void;
  /** Shows what the popups of a layer are made of. */
  readonly popup: (map: MapId, item: TreeItem) => void;
}

/** What is moved where, told when its turn comes. */
type Plan = (roots: readonly TreeItem[], items: readonly TreeItem[]) => readonly Move[];

const idsOf = (items: readonly TreeItem[]): readonly number[] => items.map(({ element }) => element.id);

/** What the user does with the layers and folders of a map. */
export class TreeActions implements TreeEditingEvents {
  private readonly looks: StyleActions;

  constructor(private readonly parts: TreeActionsParts) {
    const { copies, dialogs } = parts;
    this.looks = new StyleActions({
      ...{ copies, dialogs },
      edit: (map, change, again) => this.edit(map, change, undefined, again),
      now: (item) => itemIn(this.roots, item.element.id) ?? item,
    });
  }

  choose(item: TreeItem, isByKeys: boolean): void {
    const { map, style } = this.parts;
    map.openStyle(item);
    if (isByKeys && !item.isFolder) style.focus();
  }

  rename(map: MapId, item: TreeItem, name: string): void {
    const { id } = item.element;
    void this.edit(
      map,
      () => this.parts.changes.rename(map, item, name),
      id,
      () => this.rename(map, itemIn(this.roots, id) ?? item, name),
    );
  }

  step(map: MapId, items: readonly TreeItem[], to: Step, isHeld: boolean): void {
    // A key that is held goes as fast as the server does.
    if (isHeld && !this.parts.turns.areOver) return;
    this.move(map, idsOf(items), (roots, moved) => movesBy(roots, moved, to), true);
  }

  moveTo(map: MapId, items: readonly TreeItem[], target: TreeItem, where: DropPlace): void {
    this.move(map, idsOf(items), (roots, moved) => {
      const found = itemIn(roots, target.element.id);
      return found ? movesTo(roots, moved, found, where) : [];
    });
  }

  hasDraft(item: TreeItem): boolean {
    return this.parts.style.hasDraft(item);
  }

  settled(): void {
    void this.parts.map.settled().catch((error: unknown) => this.parts.dialogs.tell(error));
  }

  remove(map: MapId, items: readonly TreeItem[]): void {
    void this.removeAsked(map, items);
  }

  openMenu(item: TreeItem, opener: HTMLElement): void {
    const { menu, dialogs, place, rows } = this.parts;
    const { t } = dialogs.locale;
    const map = place.mapId;
    if (!map) return;
    const items = rows.together(item);
    const isOne = items.length === 1;
    const label = isOne ? t("layerMenu", { name: item.title }) : t("selectedCount", { n: items.length });
    const actions = isOne ? this.actionsOf(map, items[0]!) : this.actionsOfAll(map, items);
    menu.open({ label, at: opener.getBoundingClientRect(), opener }, actions);
  }

  private actionsOf(map: MapId, item: TreeItem): readonly MenuAction[] {
    const { rows, dialogs, place, whoSees, popup } = this.parts;
    const { t } = dialogs.locale;
    const siblings = siblingsOf(this.roots, item);
    const at = siblings.indexOf(item);
    const step = (to: Step) => this.step(map, [item], to, false);
    const offered: readonly (MenuAction | false)[] = [
      !item.isFolder && { icon: "brush", label: t("styleOf"), press: () => this.choose(item, true) },
      this.looks.copying(map, item),
      this.looks.pasting(map, [item]),
      hasOwnObjects(item) && {
        icon: "table",
        label: t("objects"),
        press: () => this.parts.map.openObjects(item),
      },
      item.element.type === "layer" && {
        icon: "plus",
        label: t("duplicate"),
        press: () => this.duplicate(map, item),
      },
      hasObjects(item) && { icon: "panel", label: t("popup"), press: () => popup(map, item) },
      { icon: "pencil", label: t("rename"), press: () => rows.rename(map, item) },
      at > 0 && { icon: "arrowUp", label: t("moveUp"), press: () => step("up") },
      at < siblings.length - 1 && { icon: "arrowDown", label: t("moveDown"), press: () => step("down") },
      place.mayAdminister &&
        !item.isFolder && {
          icon: "people",
          label: t("whoSees"),
          press: () => whoSees(map, item.element.code),
        },
      { icon: "check", label: t("select"), press: () => rows.select(item) },
      { icon: "trash", label: t("delete"), press: () => this.remove(map, [item]) },
    ];
    return offered.filter((action) => action !== false);
  }

  /** @param items several */
  private actionsOfAll(map: MapId, items: readonly TreeItem[]): readonly MenuAction[] {
    const { layers, dialogs } = this.parts;
    const { t } = dialogs.locale;
    const pasting = this.looks.pasting(map, items);
    return [
      { icon: "eye", label: t("switchOn"), press: () => layers.switch(items, true) },
      { icon: "eyeOff", label: t("switchOff"), press: () => layers.switch(items, false) },
      ...(pasting ? [pasting] : []),
      { icon: "arrowUp", label: t("moveUp"), press: () => this.step(map, items, "up", false) },
      { icon: "arrowDown", label: t("moveDown"), press: () => this.step(map, items, "down", false) },
      { icon: "close", label: t("clearSelection"), press: () => this.parts.rows.clearSelection() },
      { icon: "trash", label: t("delete"), press: () => this.remove(map, items) },
    ];
  }

  private get roots(): readonly TreeItem[] {
    return this.parts.map.tree?.roots ?? [];
  }

  private duplicate(map: MapId, item: TreeItem): void {
    const { changes, dialogs } = this.parts;
    const name = dialogs.locale.t("duplicateName", { name: item.title });
    const key = newKey();
    let copy: number | undefined;
    const change = async () => {
      copy = await changes.duplicate(map, item, { name, key });
    };
    void this.edit(map, change, () => copy);
  }

  /**
   * Changes a map in its turn; what goes wrong is told.
   * @param focused id of the element whose row has the focus afterwards
   * @param again offered when somebody else has changed the same, which is shown then
   */
  private async edit(
    map: MapId,
    change: () => Promise<unknown>,
    focused?: number | (() => number | undefined),
    again?: () => void,
  ): Promise<boolean> {
    const { turns, dialogs, place, rows } = this.parts;
    const tell = (error: unknown) => dialogs.tell(error);
    const work = async () => {
      let isDone = true;
      try {
        await change();
      } catch (error) {
        isDone = false;
        dialogs.tell(error, error instanceof Conflict ? again : undefined);
      }
      if (!isSame(place.mapId, map)) return isDone;
      // Also after a failure: somebody else may have changed it.
      await this.parts.map.reload().catch(tell);
      const at = typeof focused === "function" ? focused() : focused;
      if (at !== undefined && !rows.isBusy) rows.focus(at);
      this.parts.map.keepFocus();
      return isDone;
    };
    return turns.take(work).catch((error: unknown) => {
      tell(error);
      return false;
    });
  }

  /**
   * Moves items to where `plan` says when its turn comes.
   * @param isStep whether those that have moved would move again if it is done once more
   */
  private move(map: MapId, ids: readonly number[], plan: Plan, isStep = false): void {
    const all = new Set(ids);
    const moved = new Set<number>();
    const { changes, dialogs, place: open } = this.parts;
    const change = async () => {
      const roots = isSame(open.mapId, map) ? this.roots : [];
      const moves = plan(roots, topmost(roots, all));
      const steps = stepsOf(dialogs, moves.length);
      try {
        for (const { item, place } of moves) {
          await changes.move(map, item, place);
          moved.add(item.element.id);
          steps.step();
        }
      } finally {
        steps.end();
      }
    };
    const again = () => this.move(map, isStep ? ids.filter((id) => !moved.has(id)) : ids, plan, isStep);
    void this.edit(map, change, ids[0], again).then((isDone) => {
      if (isDone && isSame(open.mapId, map)) this.tellPlace(ids);
    });
  }

  /** Says where items are now. */
  private tellPlace([id, ...others]: readonly number[]): void {
    const { rows, dialogs } = this.parts;
    const { t } = dialogs.locale;
    const item = id === undefined ? undefined : itemIn(this.roots, id);
    if (!item) return;
    const folder = itemIn(this.roots, item.element.parent_id);
    const name = others.length === 0 ? item.title : t("selectedCount", { n: others.length + 1 });
    const siblings = siblingsOf(this.roots, item);
    const told = t("placeOfAll", { name, at: siblings.indexOf(item) + 1, all: siblings.length });
    rows.say(folder ? `${told} · ${folder.title}` : told);
  }

  private async removeAsked(map: MapId, items: readonly TreeItem[]): Promise<void> {
    const { dialogs, changes } = this.parts;
    const { t } = dialogs.locale;
    const [first] = items;
    if (!first || !(await confirmed(dialogs, removalQuestion(t, items)))) return;
    const { roots } = this;
    const ids = new Set(idsOf(items));
    const now = itemIn(roots, first.element.id) ?? first;
    const next = nextTo(roots, now, (item) => !ids.has(item.element.id));
    const gone: TreeItem[] = [];
    await this.edit(map, () => this.removeAll(map, items, gone), next?.element.id);
    if (gone.length === 0) return;
    const entries = await changes.inBin(map, gone).catch(() => []);
    if (entries.length === 0) return;
    // What is made from others comes back after them.
    const restore = () => withEachTold(dialogs, entries.toReversed(), (entry) => changes.restore(map, entry));
    const undo = () => void this.edit(map, restore, first.element.id);
    const told =
      gone.length === 1
        ? t("deletedName", { name: gone[0]!.title })
        : t("deletedSelected", { n: gone.length });
    dialogs.toasts.offerUndo(told, undo);
  }

  /** Deletes items. A layer that others of them are made from goes after these. @param gone gets those that are deleted */
  private async removeAll(map: MapId, items: readonly TreeItem[], gone: TreeItem[]): Promise<void> {
    for (let left = items; ; ) {
      const stuck: TreeItem[] = [];
      const remove = async (item: TreeItem) => {
        await this.parts.changes.remove(map, item);
        gone.push(item);
      };
      try {
        await withEachTold(this.parts.dialogs, left, remove, stuck);
        return;
      } catch (error) {
        if (stuck.length === 0 || stuck.length === left.length) throw error;
        left = stuck;
      }
    }
  }
}
