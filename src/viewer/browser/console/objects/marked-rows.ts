import { h } from "../../dom.js";
import type { Translate } from "../../texts.js";

/** Which rows of the table are marked, to be changed, merged or deleted together. */
export class MarkedRows {
  readonly ids = new Set<number>();
  private readonly boxes = new Map<number, WeakRef<HTMLInputElement>>();
  private at: (index: number) => number | undefined = () => undefined;
  /** Index of the row that was marked last. */
  private last: number | undefined;

  constructor(
    private readonly t: Translate,
    private readonly changed: () => void,
  ) {}

  listed(at: (index: number) => number | undefined): void {
    this.at = at;
    this.last = undefined;
    this.boxes.clear();
  }

  /** The first cell of a row. */
  cell(id: number, index: number): HTMLElement {
    const box = h("input", { type: "checkbox", tabindex: -1, "aria-label": this.t("markObject", { id }) });
    box.checked = this.ids.has(id);
    this.boxes.set(id, new WeakRef(box));
    const press = (isFar: boolean) => {
      const from = isFar ? this.last : undefined;
      this.last = index;
      const [least, most] =
        from === undefined ? [index, index] : [Math.min(from, index), Math.max(from, index)];
      for (let row = least; row <= most; row++) {
        const other = row === index ? id : this.at(row);
        if (other !== undefined) this.set(other, box.checked);
      }
      this.changed();
    };
    box.addEventListener("click", (event) => press(event.shiftKey));
    const cell = h("div", { class: "cell mark-cell", role: "gridcell", "aria-colindex": 1 }, box);
    // All of the cell is easier to hit.
    cell.addEventListener("click", (event) => {
      if (event.target === box) return;
      box.checked = !box.checked;
      press(event.shiftKey);
    });
    return cell;
  }

  toggle(id: number): void {
    this.set(id, !this.ids.has(id));
    this.changed();
  }

  /** Marks these and no others. */
  replace(ids: readonly number[]): void {
    for (const id of [...this.ids]) this.set(id, false);
    for (const id of ids) this.set(id, true);
    this.changed();
  }

  clear(): void {
    this.replace([]);
  }

  private set(id: number, isMarked: boolean): void {
    if (isMarked) this.ids.add(id);
    else this.ids.delete(id);
    const box = this.boxes.get(id)?.deref();
    if (box) box.checked = isMarked;
  }
}
