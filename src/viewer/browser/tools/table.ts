import type { Locale } from "../attributes.js";
import { button, h, icon } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import { type ColumnInfo, isServerError, type MapId, type ObjectItem } from "../map-server.js";
import type { Hit } from "../objects.js";
import { swatch } from "../swatch.js";
import type { OpenTool, ToolParts } from "../tool-parts.js";
import { bottomPanel } from "./bottom-panel.js";
import { cellText } from "./cell-text.js";
import type { Chart } from "./charts.js";
import { downloadMenu } from "./download-menu.js";
import { LayerObjects, type Selected } from "./layer-objects.js";
import { placeOf } from "./place-in-order.js";
import { conditionOf } from "./table-filter.js";
import { TableHead } from "./table-head.js";
import { TableRows } from "./table-rows.js";
import { viewBox } from "./view-box.js";

/** The table of a layer's objects, below the map. */

/** What lets objects be worked on. */
export interface RowWork {
  /** Controls of the header. */
  readonly controls: readonly HTMLElement[];
  /** The first cell of a row. */
  mark(id: number, index: number): HTMLElement;
  /** The key for marks was pressed. */
  toggle(id: number): void;
  /** What the column of marks is called. */
  readonly marks: string;
  /** A row was chosen; its object may have no place. @param isEntered whether it gets the focus */
  open(object: ObjectItem, isEntered: boolean): void;
  /** The rows that were read, to mark what lies between two. */
  listed(at: (index: number) => number | undefined): void;
  /** So many objects are listed. */
  counted(total: number): void;
}

export interface TableOf {
  /** Absent = objects are looked at. */
  readonly work?: RowWork;
  /** Whether it opens with a chart of what is in view. */
  readonly withChart: boolean;
  readonly mapId: MapId;
  readonly layer: TreeItem;
}

/** More columns than these are left out, which is told. */
const maxColumns = 60;
/** Browsers do not take elements of any height; a longer list is scrolled through in proportion. */
const maxHeight = 8_000_000;
const moreRows = 8;
/** After the last key, before the server is asked. */
const typingMs = 350;
/** Of which one question is for: expressions may not be long. */
const idsAtOnce = 100;
/** Width of the column of marks, in pixels. */
const markWidth = 44;

export interface OpenTable extends OpenTool {
  /** Reads the rows anew, at once. */
  renew(): void;
  /** Finds the row of an object, and marks it as that which is shown. */
  show(id: number | undefined): void;
  /** How many objects are listed; undefined = not known yet. */
  readonly total: number | undefined;
  /**
   * The values of a column, of the objects that are listed, or of those with such ids.
   * @throws ServerError, AbortError
   */
  values(
    code: string,
    of: { readonly ids?: readonly number[]; readonly limit: number },
  ): Promise<ObjectItem[]>;
}

export function openTable(parts: ToolParts, of: TableOf, closed: () => void): OpenTable {
  return new Table(parts, of, closed);
}

class Table implements OpenTable {
  private readonly panel: ReturnType<typeof bottomPanel>;
  private readonly count = h("span", { class: "pill table-count", role: "status" });
  private readonly words: HTMLInputElement;
  private readonly inView = h("input", { type: "checkbox", class: "switch", id: "table-in-view" });
  private readonly clear: HTMLButtonElement;
  private readonly head: TableHead;
  private readonly body = h("div", { class: "table-rows", role: "rowgroup" });
  private readonly note = h("p", { class: "hint table-note", hidden: true });
  private readonly scroller: HTMLElement;
  private readonly main: HTMLElement;
  private readonly rowHeight = window.matchMedia("(max-width: 640px)").matches ? 44 : 32;
  private readonly closing = new AbortController();
  private columns: readonly ColumnInfo[] = [];
  private objects: LayerObjects | undefined;
  private rows: TableRows | undefined;
  private typing = 0;
  private refreshing = 0;
  /** Index of the row that keys act on. */
  private active = 0;
  /** Id of the object that is highlighted on the map. */
  private chosen: number | undefined;
  private showing: AbortController | undefined;
  private chart: Chart | undefined;
  private readonly chartButton: HTMLButtonElement;
  private readonly shown = new Map<number, HTMLElement>();

  constructor(
    private readonly parts: ToolParts,
    private readonly of: TableOf,
    private readonly closed: () => void,
  ) {
    const { t } = this.locale;
    this.head = new TableHead(this.locale, { asked: () => this.reload(), typed: () => this.typed() });
    this.words = h("input", {
      class: "field table-words",
      type: "search",
      placeholder: t("tableSearch"),
      "aria-label": t("tableSearch"),
      maxlength: 200,
    });
    this.words.addEventListener("input", () => this.typed());
    this.inView.addEventListener("change", () => this.reload());
    this.clear = button({ class: "text-button", hidden: true }, () => this.clearFilters(), t("clearFilters"));
    const name = of.layer.title;
    this.chartButton = button(
      { class: "button small", "aria-pressed": "false", title: t("chart") },
      () => void this.toggleChart(),
      icon("chart"),
      h("span", { class: "button-text" }, t("chart")),
    );
    this.inView.checked = of.withChart;
    this.scroller = h(
      "div",
      {
        class: "table-scroll",
        role: "grid",
        tabindex: 0,
        "aria-label": t("tableOf", { name }),
        "aria-readonly": "true",
      },
      this.head.element,
      this.body,
    );
    this.main = h("div", { class: "table-main" }, this.scroller);
    this.scroller.style.setProperty("--row", `${this.rowHeight}px`);
    this.scroller.addEventListener("scroll", () => this.paint(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const pressed = event.target as HTMLElement;
      const index = pressed.closest<HTMLElement>("[data-index]")?.dataset.index;
      if (pressed.closest(".mark-cell")) return;
      if (index !== undefined) void this.choose(Number(index));
    });
    this.body.addEventListener("dblclick", () => void this.details());
    this.panel = bottomPanel(parts, {
      label: t("tableOf", { name }),
      header: [
        h("h2", {}, swatch(of.layer), h("span", {}, name)),
        this.count,
        ...(of.work?.controls ?? []),
        this.clear,
        h("label", { class: "table-in-view", for: "table-in-view" }, t("onlyInView"), this.inView),
        h("div", { class: "table-search" }, icon("search"), this.words),
        this.chartButton,
        downloadMenu(parts, {
          objects: () => this.objects,
          selected: () => this.selected,
          signal: this.closing.signal,
        }),
      ],
      body: [this.note, this.main],
      resized: () => this.paint(),
      closed: () => this.end(),
    });
    parts.view.map.on("moveend", this.moved);
    void this.start();
  }

  close(): void {
    this.panel.close();
  }

  changed(): void {
    window.clearTimeout(this.refreshing);
    this.refreshing = window.setTimeout(() => this.reload(true), 1_000);
  }

  renew(): void {
    window.clearTimeout(this.refreshing);
    this.reload(true);
  }

  show(id: number | undefined): void {
    if (id === this.chosen) return;
    this.chosen = id;
    this.paintChosen();
    if (id !== undefined) void this.reveal(id);
  }

  get total(): number | undefined {
    return this.rows?.total;
  }

  async values(
    code: string,
    { ids, limit }: { readonly ids?: readonly number[]; readonly limit: number },
  ): Promise<ObjectItem[]> {
    const { objects, closing } = this;
    if (!objects) return [];
    if (!ids) return objects.values(this.selected, code, limit, closing.signal);
    const found: ObjectItem[] = [];
    for (let at = 0; at < ids.length; at += idsAtOnce) {
      const some = ids.slice(at, at + idsAtOnce);
      const filter = `"svc_id" in (${some.join(",")})`;
      found.push(...(await objects.values({ filter, fbbox: undefined }, code, some.length, closing.signal)));
    }
    return found;
  }

  highlighted(hit: Hit): void {
    if (hit.layer.layerId === this.of.layer.layerId) this.show(hit.object.id);
  }

  private get locale(): Locale {
    return this.parts.locale;
  }

  private async start(): Promise<void> {
    const { server } = this.parts;
    const { mapId, layer } = this.of;
    try {
      const all = (await server.structure(mapId, layer.element.code)).filter(
        ({ type }) => type !== "geom" && type !== "title",
      );
      if (this.closing.signal.aborted) return;
      // The id has another name beside svc_id in some installations.
      const id = all.find(({ code }) => code === "svc_id");
      const columns = all.filter((column) => column === id || column.id !== id?.id);
      this.columns = columns.slice(0, maxColumns);
      if (columns.length > maxColumns)
        this.tell(this.locale.t("columnsLeftOut", { n: maxColumns, all: columns.length }));
    } catch {
      if (!this.closing.signal.aborted) this.tellFailed(() => void this.start());
      return;
    }
    this.objects = new LayerObjects(server, mapId, layer.element.code, this.columns);
    this.scroller.style.setProperty("--columns", this.drawHead());
    this.scroller.setAttribute("aria-colcount", String(this.columns.length + this.marked));
    this.reload();
    if (this.of.withChart) await this.toggleChart();
  }

  /** How many columns are before those of the layer. */
  private get marked(): 0 | 1 {
    return this.of.work ? 1 : 0;
  }

  private drawHead(): string {
    const widths = this.head.draw(this.columns);
    const { work } = this.of;
    if (!work) return widths;
    const [titles, boxes] = this.head.element.children;
    const name = h("span", { class: "visually-hidden" }, work.marks);
    titles?.prepend(h("div", { class: "cell", role: "columnheader" }, name));
    boxes?.prepend(h("div", { class: "cell", role: "gridcell" }));
    return `${markWidth}px ${widths}`;
  }

  /** Shows a chart beside the rows, or hides it. */
  private async toggleChart(): Promise<void> {
    if (this.chart) {
      this.chart.close();
      this.chart.element.remove();
      this.chart = undefined;
    } else {
      const loaded = await import("./charts.js").catch(() => undefined);
      const { objects, locale, columns } = this;
      if (this.closing.signal.aborted || this.chart || !objects) return;
      if (!loaded) {
        this.parts.toasts.show(locale.t("toolFailed"), "bad");
        return;
      }
      this.chart = loaded.makeChart({
        ...{ locale, columns, objects },
        selectedWithout: (code) => this.selectedWithout(code),
        typedFor: (code) => this.head.conditions.get(code) ?? "",
        ask: (code, condition) => this.head.ask(code, condition),
      });
      this.main.append(this.chart.element);
      this.chart.refresh();
    }
    this.chartButton.setAttribute("aria-pressed", String(this.chart !== undefined));
    this.paint();
  }

  private end(): void {
    this.closing.abort();
    this.showing?.abort();
    this.rows?.close();
    this.chart?.close();
    window.clearTimeout(this.typing);
    window.clearTimeout(this.refreshing);
    this.parts.view.map.off("moveend", this.moved);
    this.parts.view.highlight(undefined);
    this.closed();
  }

  private readonly moved = (): void => {
    if (this.inView.checked) this.typed();
  };

  private typed(): void {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(() => this.reload(), typingMs);
  }

  private get asked() {
    return { words: this.words.value, boxes: this.head.conditions };
  }

  private get selected(): Selected {
    return this.selectedWithout(undefined);
  }

  /** What is asked for, but for the condition of a column. */
  private selectedWithout(code: string | undefined): Selected {
    const { view } = this.parts;
    const boxes = new Map([...this.head.conditions].filter(([one]) => one !== code));
    return {
      filter: conditionOf({ words: this.words.value, boxes }, this.columns).filter,
      fbbox: this.inView.checked ? viewBox(view.map, view.covered) : undefined,
    };
  }

  /** Asks for the objects anew. @param stays whether to stay at the same place in the list */
  private reload(stays = false): void {
    if (!this.objects) return;
    window.clearTimeout(this.typing);
    this.head.mark(conditionOf(this.asked, this.columns).wrong);
    const { selected } = this;
    this.clear.hidden = selected.filter === undefined;
    this.rows?.close();
    this.rows = new TableRows(this.objects, selected, this.head.sort, {
      changed: () => this.arrived(),
      failed: (error) => {
        const isSlow = isServerError(error) && error.code === "timeout";
        this.tellFailed(() => this.reload(), isSlow);
      },
    });
    this.of.work?.listed((index) => this.rows?.at(index)?.id);
    if (!stays) {
      this.scroller.scrollTop = 0;
      this.active = 0;
    }
    this.note.hidden ||= this.note.dataset.kind === "failed";
    this.panel.element.setAttribute("aria-busy", "true");
    this.rows.want(this.first, this.first + this.visible);
    this.chart?.refresh();
  }

  private arrived(): void {
    const total = this.rows?.total ?? 0;
    this.of.work?.counted(total);
    this.panel.element.setAttribute("aria-busy", "false");
    this.count.textContent = this.locale.t("tableCount", { n: total, shown: this.number(total) });
    this.scroller.setAttribute("aria-rowcount", String(total + 2));
    this.active = Math.min(this.active, Math.max(0, total - 1));
    this.body.style.height = `${Math.min(maxHeight, total * this.rowHeight)}px`;
    for (const row of this.shown.values()) row.remove();
    this.shown.clear();
    this.body.dataset.empty = total === 0 ? this.locale.t("noObjectsFound") : "";
    this.paint();
  }

  private number(value: number): string {
    return new Intl.NumberFormat(this.locale.language).format(value);
  }

  /** Rows that fit. */
  private get visible(): number {
    return Math.max(1, (this.scroller.clientHeight - this.head.element.offsetHeight) / this.rowHeight);
  }

  /** The first row that is seen, with a fraction. */
  private get first(): number {
    const total = this.rows?.total ?? 0;
    const range = Math.min(maxHeight, total * this.rowHeight) - this.visible * this.rowHeight;
    return range <= 0 ? 0 : Math.min(1, this.scroller.scrollTop / range) * (total - this.visible);
  }

  private scrollTo(index: number): void {
    const total = this.rows?.total ?? 0;
    const { first, visible } = this;
    if (index >= first && index + 1 <= first + visible) return;
    const range = Math.min(maxHeight, total * this.rowHeight) - visible * this.rowHeight;
    const wanted = index < first ? index : index + 1 - visible;
    if (total > visible) this.scroller.scrollTop = (wanted / (total - visible)) * range;
  }

  /** Shows the rows that are seen. */
  private paint(): void {
    const { rows } = this;
    if (rows?.total === undefined) return;
    const { first, visible } = this;
    const from = Math.max(0, Math.floor(first) - moreRows);
    const end = Math.min(rows.total, Math.ceil(first + visible) + moreRows);
    for (const [index, row] of this.shown) {
      if (index >= from && index < end) continue;
      row.remove();
      this.shown.delete(index);
    }
    for (let index = from; index < end; index++) {
      let row = this.shown.get(index);
      if (row && (row.dataset.id !== undefined || !rows.at(index))) {
        this.place(row, index, first);
        continue;
      }
      row?.remove();
      row = this.row(index);
      this.place(row, index, first);
      this.shown.set(index, row);
      this.body.append(row);
    }
    this.paintChosen();
    rows.want(first, first + visible);
  }

  private place(row: HTMLElement, index: number, first: number): void {
    row.style.transform = `translateY(${Math.round(this.scroller.scrollTop + (index - first) * this.rowHeight)}px)`;
  }

  private paintChosen(): void {
    for (const [index, row] of this.shown) {
      const isChosen = this.chosen !== undefined && row.dataset.id === String(this.chosen);
      row.setAttribute("aria-selected", String(isChosen));
      row.classList.toggle("active", index === this.active);
    }
    this.scroller.setAttribute("aria-activedescendant", `table-row-${this.active}`);
  }

  private row(index: number): HTMLElement {
    const row = this.rows?.at(index);
    const cells = this.columns.map((column, at) => {
      const text = row ? cellText(row.fields[column.code], column, this.locale) : "";
      const isNumber = column.type === "number";
      return h(
        "div",
        { class: isNumber ? "cell number" : "cell", role: "gridcell", "aria-colindex": at + 1 + this.marked },
        row ? text || "—" : "…",
      );
    });
    return h(
      "div",
      {
        class: "table-row",
        role: "row",
        id: `table-row-${index}`,
        "aria-rowindex": index + 3,
        "data-index": index,
        "data-id": row?.id,
      },
      row && this.of.work ? this.of.work.mark(row.id, index) : undefined,
      ...cells,
    );
  }

  private clearFilters(): void {
    this.head.clear();
    this.words.value = "";
    this.words.focus();
    this.reload();
  }

  private key(event: KeyboardEvent): void {
    const total = this.rows?.total ?? 0;
    if (event.target !== this.scroller || total === 0) return;
    const page = Math.max(1, Math.floor(this.visible) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: total - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) {
      this.active = Math.min(total - 1, Math.max(0, to));
      this.scrollTo(this.active);
      this.paint();
    } else if (event.key === "Enter") void this.details();
    else if (event.key === " ") this.pressed(this.active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Marks a row, or shows its object on the map where there are no marks. */
  private pressed(index: number): void {
    const id = this.rows?.at(index)?.id;
    if (!this.of.work) void this.choose(index);
    else if (id !== undefined) this.of.work.toggle(id);
  }

  /** Shows the object of a row on the map. */
  private async choose(
    index: number,
    isEntered = false,
  ): Promise<{ hit: Hit; latlng: L.LatLng } | undefined> {
    const row = this.rows?.at(index);
    this.active = index;
    if (!row || !this.objects) return undefined;
    const { view, toasts } = this.parts;
    this.chosen = row.id;
    this.paintChosen();
    this.showing?.abort();
    const showing = new AbortController();
    this.showing = showing;
    const zoom = Math.min(22, Math.round(view.map.getZoom()) + 1);
    let object: ObjectItem | undefined;
    try {
      object = await this.objects.object(row.id, zoom, showing.signal);
    } catch {
      if (!showing.signal.aborted) toasts.show(this.locale.t("queryFailed"), "bad");
      return undefined;
    }
    if (showing.signal.aborted || !object) return undefined;
    this.of.work?.open(object, isEntered);
    const bounds = L.geoJSON(object.geom ?? undefined).getBounds();
    if (!bounds.isValid()) {
      view.highlight(undefined);
      if (!this.of.work) toasts.show(this.locale.t("noGeometry"));
      return undefined;
    }
    // In the copy of the world that is looked at.
    const away = view.map.getCenter().lng - bounds.getCenter().lng;
    const shift = Math.round(away / 360) * 360;
    const hit: Hit = { layer: this.of.layer, object, shift };
    view.highlight(undefined, hit);
    view.reveal(hit);
    return { hit, latlng: L.latLng(bounds.getCenter().lat, bounds.getCenter().lng + shift) };
  }

  /** Shows the object of the row that keys act on, with its attributes. */
  private async details(): Promise<void> {
    const found = await this.choose(this.active, true);
    if (found && !this.of.work) this.parts.showObject(found.hit, this.columns, found.latlng);
  }

  /** Scrolls to the row of an object, if it is among those that are listed. */
  private async reveal(id: number): Promise<void> {
    const { rows, objects } = this;
    const { sort } = this.head;
    if (!rows || !objects) return;
    this.showing?.abort();
    const showing = new AbortController();
    this.showing = showing;
    try {
      const index =
        rows.indexOf(id) ??
        (await placeOf(
          id,
          { objects, selected: rows.selected, sort, columns: this.columns },
          showing.signal,
        ));
      if (showing.signal.aborted || rows !== this.rows) return;
      if (index === undefined) {
        this.parts.toasts.show(this.locale.t("notInTable"));
        return;
      }
      this.active = index;
      this.scrollTo(index);
      this.paint();
    } catch {
      // The object is shown on the map all the same.
    }
  }

  private tell(text: string): void {
    this.note.dataset.kind = "told";
    this.note.replaceChildren(text);
    this.note.hidden = false;
  }

  private tellFailed(retry: () => void, isSlow = false): void {
    const { t } = this.locale;
    this.panel.element.setAttribute("aria-busy", "false");
    this.note.dataset.kind = "failed";
    this.note.replaceChildren(
      t(isSlow ? "tableSlow" : "queryFailed"),
      " ",
      button({ class: "text-button" }, retry, t("retry")),
    );
    this.note.hidden = false;
  }
}
