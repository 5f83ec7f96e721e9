import { columnTitle } from "../../attributes.js";
import { button, h, icon } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import type { Translate } from "../../texts.js";
import type { PopupColumn } from "./settings.js";

/** Columns that are switched on and off, and put into order by dragging, by buttons and by keys. */

interface Row {
  readonly of: PopupColumn<ColumnInfo>;
  readonly name: string;
  readonly element: HTMLElement;
  readonly up: HTMLButtonElement;
  readonly down: HTMLButtonElement;
}

export class ColumnList {
  readonly list: HTMLElement;
  /** Says where a column that was moved is now. */
  readonly status = h("p", { class: "visually-hidden", role: "status" });
  private rows: Row[] = [];

  /** @param changed the order, or what is shown */
  constructor(
    private readonly t: Translate,
    private readonly changed: () => void,
  ) {
    this.list = h("ol", { class: "popup-columns", "aria-label": t("popupColumns") });
  }

  get columns(): readonly PopupColumn<ColumnInfo>[] {
    return this.rows.map(({ of }) => of);
  }

  show(columns: readonly PopupColumn<ColumnInfo>[]): void {
    this.rows = columns.map((column) => this.rowOf(column));
    this.list.replaceChildren(...this.rows.map(({ element }) => element));
    this.mark();
  }

  private rowOf(of: PopupColumn<ColumnInfo>): Row {
    const { t } = this;
    const name = columnTitle(of.column);
    const id = `popup-column-${of.column.id}`;
    const input = h("input", { type: "checkbox", id });
    input.checked = of.isShown;
    input.addEventListener("change", () => {
      of.isShown = input.checked;
      this.mark();
      this.changed();
    });
    const step = (by: 1 | -1) => {
      const label = `${t(by < 0 ? "moveUp" : "moveDown")}: ${name}`;
      return button(
        { class: "icon-button", "aria-label": label, title: label },
        () => this.step(row, by),
        icon(by < 0 ? "arrowUp" : "arrowDown"),
      );
    };
    const [up, down] = [step(-1), step(1)];
    const grip = h(
      "span",
      { class: "popup-grip", "aria-hidden": "true", title: t("moveHint") },
      icon("grip"),
    );
    const element = h(
      "li",
      { class: "popup-column" },
      grip,
      h("label", { for: id }, input, h("span", {}, name)),
      up,
      down,
    );
    const row = { of, name, element, up, down };
    element.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : undefined;
      if (by === undefined || !event.altKey) return;
      event.preventDefault();
      this.step(row, by);
    });
    this.drag(grip, row);
    return row;
  }

  /** Moves a column by one place, and says so. */
  private step(row: Row, by: 1 | -1): void {
    const { rows, t } = this;
    if (!this.move(row, rows.indexOf(row) + by)) return;
    this.status.textContent = t("placeOfAll", {
      name: row.name,
      at: rows.indexOf(row) + 1,
      all: rows.length,
    });
  }

  /** Puts others before or after a row until it is there: so it keeps the focus, and the pointer that drags it. */
  private move(row: Row, to: number): boolean {
    const { rows } = this;
    let at = rows.indexOf(row);
    if (to < 0 || to >= rows.length || to === at) return false;
    while (at !== to) {
      const next = at < to ? at + 1 : at - 1;
      const other = rows[next]!;
      if (at < to) row.element.before(other.element);
      else row.element.after(other.element);
      rows[at] = other;
      rows[next] = row;
      at = next;
    }
    row.element.scrollIntoView({ block: "nearest" });
    this.mark();
    this.changed();
    return true;
  }

  private drag(grip: HTMLElement, row: Row): void {
    let began: number | undefined;
    const end = (isKept: boolean) => {
      if (began === undefined) return;
      if (!isKept) this.move(row, began);
      began = undefined;
      row.element.classList.remove("dragged");
    };
    grip.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      began = this.rows.indexOf(row);
      grip.setPointerCapture(event.pointerId);
      row.element.classList.add("dragged");
      event.preventDefault();
    });
    grip.addEventListener("pointermove", ({ clientY }) => {
      if (began !== undefined) this.move(row, this.placeAt(clientY, row));
    });
    grip.addEventListener("pointerup", () => end(true));
    grip.addEventListener("pointercancel", () => end(false));
    grip.addEventListener("lostpointercapture", () => end(true));
  }

  /** How many of the other rows have their middle above a place of the page: rows of other heights do not make it flicker. */
  private placeAt(y: number, dragged: Row): number {
    const above = this.rows.filter((row) => {
      if (row === dragged) return false;
      const { top, bottom } = row.element.getBoundingClientRect();
      return (top + bottom) / 2 < y;
    });
    return above.length;
  }

  private mark(): void {
    this.rows.forEach(({ of, element, up, down }, at) => {
      element.classList.toggle("off", !of.isShown);
      // Not disabled: the one that was pressed keeps the focus.
      up.setAttribute("aria-disabled", String(at === 0));
      down.setAttribute("aria-disabled", String(at === this.rows.length - 1));
    });
  }
}
