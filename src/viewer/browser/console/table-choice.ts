import { button, h } from "../dom.js";
import type { Translate } from "../texts.js";
import { geometryWord } from "./geometry-word.js";

/** Which tables of a file become layers. */

/** A table, sheet or layer of a file, as the server lists them. */
export interface FileTable {
  readonly name: string;
  /** As GDAL names types of geometry. */
  readonly geometry_type?: string;
  /** Absent = nobody knows before it is read. */
  readonly features?: number;
}

export interface TableChoiceEvents {
  /** Each of these becomes a layer. */
  readonly chosen: (names: readonly string[]) => void;
  /** All of them become one layer. */
  readonly whole: () => void;
  readonly leave: () => void;
}

/** The tables that a refused import tells of; undefined = it was refused for something else. */
export function tablesOf(data: Readonly<Record<string, unknown>>): readonly FileTable[] | undefined {
  const { tables } = data;
  return Array.isArray(tables) && tables.length > 0 ? (tables as FileTable[]) : undefined;
}

export class TableChoice {
  readonly list: HTMLElement;
  readonly actions: readonly HTMLElement[];
  private readonly boxes: readonly (readonly [box: HTMLInputElement, name: string])[];
  private readonly all = h("input", { type: "checkbox" });
  private readonly go: HTMLButtonElement;

  /** @param name of the file */
  constructor(
    private readonly t: Translate,
    name: string,
    tables: readonly FileTable[],
    events: TableChoiceEvents,
  ) {
    this.boxes = tables.map((table) => {
      const box = h("input", { type: "checkbox", checked: table.features !== 0 });
      box.addEventListener("change", () => this.show());
      return [box, table.name];
    });
    this.all.addEventListener("change", () => {
      const { checked } = this.all;
      for (const [box] of this.boxes) box.checked = checked;
      this.show();
    });
    this.list = h(
      "fieldset",
      { class: "import-tables" },
      h("legend", { class: "visually-hidden" }, t("importTablesOf", { name })),
      h("label", { class: "import-table" }, this.all, h("span", {}, t("importAllTables"))),
      ...tables.map((table, at) => this.row(table, this.boxes[at]![0])),
    );
    this.go = button({ class: "button main small" }, () =>
      events.chosen(this.boxes.flatMap(([box, name]) => (box.checked ? [name] : []))),
    );
    this.actions = [
      this.go,
      button({ class: "text-button" }, events.whole, t("importAsOne")),
      button({ class: "text-button" }, events.leave, t("cancel")),
    ];
    this.show();
  }

  private row({ name, geometry_type: type, features }: FileTable, box: HTMLInputElement): HTMLElement {
    const about = [
      ...(type === undefined ? [] : [this.t(geometryWord(type))]),
      ...(features === undefined
        ? []
        : [features === 0 ? this.t("importEmptyTable") : this.t("importObjects", { n: features })]),
    ];
    return h(
      "label",
      { class: "import-table" },
      box,
      h("span", { class: "import-table-name", dir: "auto" }, name),
      about.length > 0 && h("small", {}, about.join(" · ")),
    );
  }

  private show(): void {
    const chosen = this.boxes.filter(([box]) => box.checked).length;
    this.all.checked = chosen === this.boxes.length;
    this.all.indeterminate = chosen > 0 && chosen < this.boxes.length;
    this.go.disabled = chosen === 0;
    this.go.textContent = this.t("importLayers", { n: chosen });
  }
}
