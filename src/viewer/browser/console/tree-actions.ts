import { hasObjects, type TreeItem } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
import type { PopupMenu } from "../popup-menu.js";
import { confirmed } from "./confirmed.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";
import type { MapEdits } from "./map-edits.js";
import { hasOwnObjects } from "./object-editing.js";
import type { OpenMap } from "./open-map.js";
import type { StylePanel } from "./style-panel.js";
import {
  type DropPlace,
  type EditableTree,
  itemIn,
  placeAt,
  type Step,
  siblingsOf,
  stepTo,
  type TreeEditingEvents,
} from "./tree-editing.js";
import type { Turns } from "./turns.js";
import { isSame, type Workplace } from "./workplace.js";

export interface TreeActionsParts {
  readonly place: Workplace;
  readonly map: OpenMap;
  readonly rows: EditableTree;
  readonly menu: PopupMenu;
  readonly style: StylePanel;
  readonly changes: MapEdits;
  readonly turns: Turns;
  readonly dialogs: Dialogs;
  /** Shows who sees a layer. @param layer its code */
  readonly whoSees: (map: MapId, layer: string) => void;
  /** Shows what the popups of a layer are made of. */
  readonly popup: (map: MapId, item: TreeItem) => void;
}

/** Where something goes, told when its turn comes. */
type Goal = (
  roots: readonly TreeItem[],
  item: TreeItem,
) => { readonly target: TreeItem; readonly where: DropPlace } | undefined;

type MovedItem = { readonly element: Pick<TreeItem["element"], "id"> };

/** What the user does with the layers and folders of a map. */
export class TreeActions implements TreeEditingEvents {
  constructor(private readonly parts: TreeActionsParts) {}

  choose(item: TreeItem): void {
    this.parts.map.openStyle(item);
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

  step(map: MapId, item: TreeItem, to: Step, isHeld: boolean): void {
    // A key that is held goes as fast as the server does.
    if (!isHeld || this.parts.turns.areOver) this.move(map, item, (roots, moved) => stepTo(roots, moved, to));
  }

  moveTo(map: MapId, item: TreeItem, target: TreeItem, where: DropPlace): void {
    this.move(map, item, (roots) => {
      const found = itemIn(roots, target.element.id);
      return found && { target: found, where };
    });
  }

  hasDraft(item: TreeItem): boolean {
    return this.parts.style.hasDraft(item);
  }

  settled(): void {
    void this.parts.map.settled().catch((error: unknown) => this.parts.dialogs.tell(error));
  }

  remove(map: MapId, item: TreeItem): void {
    void this.removeAsked(map, item);
  }

  openMenu(item: TreeItem, opener: HTMLElement): void {
    const { menu, style, rows, dialogs, place, whoSees, popup } = this.parts;
    const { t } = dialogs.locale;
    const map = place.mapId;
    if (!map) return;
    const siblings = siblingsOf(this.roots, item);
    const at = siblings.indexOf(item);
    const openStyle = () => {
      this.choose(item);
      style.focus();
    };
    const openObjects = () => this.parts.map.openObjects(item);
    const step = (to: Step) => this.step(map, item, to, false);
    menu.open({ label: t("layerMenu", { name: item.title }), at: opener.getBoundingClientRect(), opener }, [
      ...(item.isFolder ? [] : [{ icon: "brush" as const, label: t("styleOf"), press: openStyle }]),
      ...(hasOwnObjects(item) ? [{ icon: "table" as const, label: t("objects"), press: openObjects }] : []),
      ...(hasObjects(item)
        ? [{ icon: "panel" as const, label: t("popup"), press: () => popup(map, item) }]
        : []),
      { icon: "pencil", label: t("rename"), press: () => rows.rename(map, item) },
      ...(at > 0 ? [{ icon: "arrowUp" as const, label: t("moveUp"), press: () => step("up") }] : []),
      ...(at < siblings.length - 1
        ? [{ icon: "arrowDown" as const, label: t("moveDown"), press: () => step("down") }]
        : []),
      ...(place.mayAdminister && !item.isFolder
        ? [
            {
              icon: "people" as const,
              label: t("whoSees"),
              press: () => whoSees(map, item.element.code),
            },
          ]
        : []),
      { icon: "trash", label: t("delete"), press: () => this.remove(map, item) },
    ]);
  }

  private get roots(): readonly TreeItem[] {
    return this.parts.map.tree?.roots ?? [];
  }

  /**
   * Changes a map in its turn; what goes wrong is told.
   * @param focused id of the element whose row has the focus afterwards
   * @param again offered when somebody else has changed the same, which is shown then
   */
  private async edit(
    map: MapId,
    change: () => Promise<unknown>,
    focused?: number,
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
      if (focused !== undefined && !rows.isBusy) rows.focus(focused);
      this.parts.map.keepFocus();
      return isDone;
    };
    return turns.take(work).catch((error: unknown) => {
      tell(error);
      return false;
    });
  }

  /** Moves an item to where `goal` says when its turn comes. */
  private move(map: MapId, { element: { id } }: MovedItem, goal: Goal): void {
    const change = async () => {
      const roots = isSame(this.parts.place.mapId, map) ? this.roots : [];
      const item = itemIn(roots, id);
      const found = item && goal(roots, item);
      const place = found && placeAt(roots, item, found.target, found.where);
      if (place) await this.parts.changes.move(map, item, place);
    };
    void this.edit(map, change, id, () => this.move(map, { element: { id } }, goal));
  }

  private async removeAsked(map: MapId, item: TreeItem): Promise<void> {
    const { dialogs, changes } = this.parts;
    const { t } = dialogs.locale;
    const name = item.title;
    const isSure = await confirmed(dialogs, {
      title: t("deleteLayer", { name }),
      text: t(item.isFolder ? "deleteFolderText" : "deleteLayerText", { name }),
      action: t("delete"),
    });
    if (!isSure) return;
    const { roots } = this;
    const now = itemIn(roots, item.element.id) ?? item;
    const next = stepTo(roots, now, "down") ?? stepTo(roots, now, "up") ?? stepTo(roots, now, "out");
    const isGone = await this.edit(map, () => changes.remove(map, item), next?.target.element.id);
    if (!isGone) return;
    const entry = await changes.inBin(map, item).catch(() => undefined);
    if (entry === undefined) return;
    const restore = () => void this.edit(map, () => changes.restore(map, entry), item.element.id);
    dialogs.toasts.show(t("deletedName", { name }), "plain", { label: t("undo"), press: restore });
  }
}
