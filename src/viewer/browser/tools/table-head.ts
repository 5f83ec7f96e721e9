import { columnTitle, type Locale } from "../attributes.js";
import { button, h, icon } from "../dom.js";
import type { ColumnInfo } from "../map-server.js";
import type { Sorting } from "./layer-objects.js";
import { choicesOf } from "./table-filter.js";

/** The head of a table: for each column its title, which sorts, and a box in which a condition is typed or chosen. */

const widths: Readonly<Record<string, number>> = {
  number: 118,
  bool: 92,
  datetime: 172,
  file: 100,
  text: 260,
};
const idWidth = 96;
const defaultWidth = 190;

export interface TableHeadEvents {
  /** Other objects are wanted, or in another order. */
  readonly asked: () => void;
  /** A condition is being typed. */
  readonly typed: () => void;
}

export class TableHead {
  readonly element = h("div", { class: "table-head", role: "rowgroup" });
  /** Conditions as they were typed, by column. */
  readonly conditions = new Map<string, string>();
  sort: Sorting | undefined;

  constructor(
    private readonly locale: Locale,
    private readonly on: TableHeadEvents,
  ) {}

  /** @returns the widths of the columns, as CSS has them */
  draw(columns: readonly ColumnInfo[]): string {
    const row = (index: number, cells: readonly HTMLElement[]) =>
      h("div", { class: "table-row", role: "row", "aria-rowindex": index }, ...cells);
    this.element.replaceChildren(
      row(
        1,
        columns.map((column) => this.title(column)),
      ),
      row(
        2,
        columns.map((column) => h("div", { class: "cell", role: "gridcell" }, this.box(column))),
      ),
    );
    return columns
      .map(({ type, code }) => `${code === "svc_id" ? idWidth : (widths[type] ?? defaultWidth)}px`)
      .join(" ");
  }

  /** Shows which conditions are none. */
  mark(wrong: ReadonlySet<string>): void {
    for (const box of this.boxes) box.setAttribute("aria-invalid", String(wrong.has(box.dataset.code!)));
  }

  /** Sets the condition of a column. */
  ask(code: string, text: string): void {
    this.conditions.set(code, text);
    for (const box of this.boxes) if (box.dataset.code === code && box.value !== text) box.value = text;
    this.on.asked();
  }

  clear(): void {
    this.conditions.clear();
    for (const box of this.boxes) box.value = "";
  }

  private get boxes() {
    return this.element.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-code]");
  }

  private titleOf(column: ColumnInfo): string {
    return column.code === "svc_id" ? this.locale.t("objectId") : columnTitle(column);
  }

  private title(column: ColumnInfo): HTMLElement {
    const title = this.titleOf(column);
    const sorter = button(
      { class: "sorter", title },
      () => this.sortBy(column),
      h("span", {}, title),
      icon("chevron"),
    );
    sorter.disabled = column.type === "json" || column.type === "file";
    return h(
      "div",
      { class: "cell", role: "columnheader", "data-sort": column.code, "aria-sort": "none" },
      sorter,
    );
  }

  private box(column: ColumnInfo): HTMLElement {
    const { t } = this.locale;
    const choices = choicesOf(column);
    const attributes = {
      class: "field filter-box",
      "data-code": column.code,
      "aria-label": t("filterColumn", { name: this.titleOf(column) }),
    };
    if (choices) {
      const texts = { true: t("yes"), false: t("no"), empty: t("isEmpty"), filled: t("isFilled") };
      const select = h(
        "select",
        attributes,
        h("option", { value: "" }, t("anyValue")),
        ...choices.map((choice) => h("option", { value: choice }, texts[choice])),
      );
      select.addEventListener("change", () => this.ask(column.code, select.value));
      return select;
    }
    const hints: Record<string, string> = { number: "> 100", datetime: "2024-05" };
    const input = h("input", {
      ...attributes,
      type: "text",
      maxlength: 200,
      title: t(
        column.type === "number" || column.type === "datetime" ? "filterHintNumber" : "filterHintText",
      ),
      placeholder: hints[column.type] ?? "…",
      autocomplete: "off",
      spellcheck: "false",
    });
    input.addEventListener("input", () => {
      this.conditions.set(column.code, input.value);
      this.on.typed();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.on.asked();
      // Keys of the table are for its rows.
      if (event.key !== "Escape") event.stopPropagation();
    });
    return input;
  }

  private sortBy({ code }: ColumnInfo): void {
    const { sort } = this;
    if (sort?.code !== code) this.sort = { code, descending: false };
    else this.sort = sort.descending ? undefined : { code, descending: true };
    for (const title of this.element.querySelectorAll<HTMLElement>("[data-sort]")) {
      const isSorted = title.dataset.sort === this.sort?.code;
      title.setAttribute(
        "aria-sort",
        isSorted ? (this.sort!.descending ? "descending" : "ascending") : "none",
      );
    }
    this.on.asked();
  }
}
