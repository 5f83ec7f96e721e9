import type { TreeItem } from "../layer-tree.js";
import type { TreeRow } from "../tree-view.js";
import { type DropPlace, holds } from "./tree-moves.js";

/** Rows of the tree that are dragged to another place. */

export interface RowDrag {
  begun(): void;
  /** What is dragged: the item of the row, and others with it. */
  items(): readonly TreeItem[];
  rowOf(id: number): TreeRow | undefined;
  dropped(target: TreeItem, where: DropPlace): void;
  ended(): void;
}

/** A press that moves less is a click. */
const leastPixels = 4;

/** @param grip what is taken hold of */
export function dragRows(grip: HTMLElement, row: HTMLElement, drag: RowDrag): void {
  let from: number | undefined;
  let items: readonly TreeItem[] = [];
  let target: { readonly item: TreeItem; readonly where: DropPlace } | undefined;
  const unmark = () => {
    for (const marked of document.querySelectorAll<HTMLElement>("[data-drop]")) delete marked.dataset.drop;
  };
  const show = (isDragged: boolean) => {
    for (const { element } of items) drag.rowOf(element.id)?.row.classList.toggle("dragged", isDragged);
  };
  const end = (isDropped: boolean) => {
    if (from === undefined) return;
    from = undefined;
    show(false);
    unmark();
    if (isDropped && target) drag.dropped(target.item, target.where);
    target = undefined;
    drag.ended();
  };
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = event.clientY;
    items = drag.items();
    drag.begun();
    grip.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  const follow = (event: PointerEvent) => {
    if (from === undefined || Math.abs(event.clientY - from) < leastPixels) return;
    show(true);
    unmark();
    const below = document.elementFromPoint(row.getBoundingClientRect().left + 40, event.clientY);
    const over = below?.closest<HTMLElement>(".tree-row");
    const found = over ? drag.rowOf(Number(over.dataset.layer)) : undefined;
    target = found ? targetAt(found, event.clientY, items) : undefined;
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

function targetAt({ item, row }: TreeRow, y: number, dragged: readonly TreeItem[]) {
  if (dragged.some((one) => holds(one, item))) return undefined;
  const { top, height } = row.getBoundingClientRect();
  const part = (y - top) / height;
  const where: DropPlace =
    item.isFolder && part > 0.3 && part < 0.7 ? "inside" : part < 0.5 ? "before" : "after";
  return { item, where };
}
