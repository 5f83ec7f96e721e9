import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import { pageLink } from "./help-link.js";
import { LateRows } from "./late-rows.js";
import { isWholeMap, type LayerTree, type TreeItem } from "./layer-tree.js";
import { LayerLegend, ToggledLegends } from "./legend.js";
import type { LegendSource } from "./map-server.js";
import { swatch } from "./swatch.js";
import type { Translate } from "./texts.js";

export interface TreeViewEvents {
  /** A layer or folder was switched on or off. */
  switched(): void;
  zoomTo(item: TreeItem): void;
  /** Opens the menu of a layer, at a button of its row. */
  menu(item: TreeItem, opener: HTMLElement): void;
  /** Lets the rows be edited; absent = they are looked at. */
  readonly editing?: TreeEditing;
}

/** The parts of a row. */
export interface TreeRow {
  readonly item: TreeItem;
  readonly row: HTMLElement;
  /** The label of the switch, which is what the item is called. */
  readonly name: HTMLLabelElement;
  readonly input: HTMLInputElement;
}

/** What makes rows of the tree such as can be edited. Folders have menus then, too. */
export interface TreeEditing {
  /** Rows will be made, some of them when they are seen. @param make makes the row of an element now */
  begun(make: (id: number) => void): void;
  made(row: TreeRow): void;
  /** What is switched with an item, itself among it. */
  together(item: TreeItem): readonly TreeItem[];
  /** Shown above the tree. */
  readonly bar: HTMLElement;
  /** Said in place of a tree without layers. */
  readonly empty: string;
}

/** Of a map with more layers rows are made when they are seen: those of 10,000 have 300,000 elements. */
const mostAtOnce = 300;

/** What tiles name the base map by when they lack it. */
export const baseCode = "_base";

/** Says of what cannot be drawn just now that it cannot, below its name. It is hidden at first. */
export function missingSign(t: Translate, name: string): HTMLElement {
  const text = t("cannotBeDrawn", { name });
  return h(
    "span",
    { class: "missing-sign", role: "img", "aria-label": text, title: text, hidden: true },
    icon("alert"),
    t("notDrawn"),
  );
}

/** The layer tree as nested lists with switches. */
export class TreeView {
  readonly element = h("div", { class: "tree" });
  private readonly t: Translate;
  private tree: LayerTree | undefined;
  /** Functions that update the switches from the tree. */
  private refreshers: (() => void)[] = [];
  private legends: { readonly item: TreeItem; readonly legend: LayerLegend }[] = [];
  private readonly toggled = new ToggledLegends();
  private source: LegendSource | undefined;
  private readonly late = new LateRows();
  /** By the id of the element: makes its row, if it has not been. */
  private readonly makers = new Map<number, () => void>();
  private nextId = 0;
  /** Legends are loaded when their layers are seen in the panel. */
  private readonly seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      this.isSeen.set(target, isIntersecting);
      if (isIntersecting) this.loaders.get(target)?.();
    }
  });
  private readonly isSeen = new WeakMap<Element, boolean>();
  private readonly loaders = new WeakMap<Element, () => void>();
  private zoom = 0;
  /** Codes of layers that tiles lack. */
  private missing: ReadonlySet<string> = new Set();

  constructor(
    private readonly locale: Locale,
    private readonly events: TreeViewEvents,
  ) {
    this.t = locale.t;
    this.element.addEventListener("focusin", ({ target }) => {
      const entry = target instanceof Element && target.closest("li");
      if (entry) this.late.makeAround(entry);
    });
  }

  show(tree: LayerTree, source: LegendSource): void {
    this.tree = tree;
    this.source = source;
    this.refreshers = [];
    this.legends = [];
    this.seen.disconnect();
    this.late.clear();
    this.makers.clear();
    this.events.editing?.begun((id) => this.makers.get(id)?.());
    this.element.replaceChildren(
      tree.roots.length > 0
        ? this.list(tree.roots, 0)
        : h(
            "p",
            { class: "hint" },
            ...(this.events.editing
              ? [this.events.editing.empty]
              : [this.t("noLayers"), " ", pageLink("how-to/import-files", this.t("addLayers"))]),
          ),
    );
  }

  refresh(): void {
    for (const refresh of this.refreshers) refresh();
  }

  /** Marks the layers of these codes, which cannot be drawn just now. */
  markMissing(codes: ReadonlySet<string>): void {
    this.missing = codes;
    this.refresh();
  }

  /** Shows what the legends have at a zoom. */
  zoomed(zoom: number): void {
    this.zoom = zoom;
    for (const { legend } of this.legends) legend.zoomed(zoom);
  }

  /** Loads the legends of the layers that are on, also of those that are not seen. */
  async loadLegends(): Promise<void> {
    this.late.makeAll();
    const isOn = (item: TreeItem) => this.tree?.shown(item) !== "none";
    await Promise.all(this.legends.filter(({ item }) => isOn(item)).map(({ legend }) => legend.load()));
  }

  /** The legend of a layer, when it is loaded; undefined = it has none. */
  async legendOf(item: TreeItem): Promise<HTMLElement | undefined> {
    this.makers.get(item.element.id)?.();
    const found = this.legends.find((one) => one.item === item)?.legend;
    await found?.load();
    return found?.element;
  }

  private list(items: readonly TreeItem[], depth: number): HTMLElement {
    return h("ul", { class: "tree-list" }, ...items.map((item) => this.item(item, depth)));
  }

  private item(item: TreeItem, depth: number): HTMLElement {
    const entry = h("li", {});
    if (item.isFolder || (this.tree?.leaves.length ?? 0) <= mostAtOnce) this.fill(entry, item, depth);
    else this.fillLater(entry, item, depth);
    return entry;
  }

  private fillLater(entry: HTMLElement, item: TreeItem, depth: number): void {
    const name = h("span", { class: "tree-name" }, item.title);
    const { id } = item.element;
    const place = h("div", { class: "tree-row", "data-depth": depthOf(depth), "data-layer": id }, name);
    entry.className = "late";
    entry.append(place);
    const make = () => {
      if (!place.isConnected) return;
      place.remove();
      entry.className = "";
      this.fill(entry, item, depth);
    };
    this.makers.set(item.element.id, make);
    this.late.add(entry, make);
  }

  private fill(entry: HTMLElement, item: TreeItem, depth: number): void {
    const id = `tree-${this.nextId++}`;
    const input = h("input", { type: "checkbox", class: "switch", id, "data-code": item.element.code });
    if (!item.isFolder) input.setAttribute("role", "switch");
    input.addEventListener("change", () => {
      for (const one of this.events.editing?.together(item) ?? [item]) this.tree?.set(one, input.checked);
      this.refresh();
      this.events.switched();
    });
    const symbol = swatch(item);
    const name = h("label", { class: "tree-name", for: id, title: item.title }, item.title);
    const sign = missingSign(this.t, item.title);
    const row = h(
      "div",
      { class: "tree-row", "data-depth": depthOf(depth), "data-layer": item.element.id },
      symbol,
      h("span", { class: "tree-text" }, name, sign),
      this.zoomButton(item),
      this.menuButton(item),
      input,
    );
    const refresh = () => {
      const shown = this.tree?.shown(item);
      input.checked = shown === "all";
      input.indeterminate = shown === "some";
      row.dataset.shown = shown;
      sign.hidden = shown === "none" || !this.isMissing(item);
    };
    refresh();
    this.refreshers.push(refresh);
    this.events.editing?.made({ item, row, name, input });
    entry.append(row);
    if (!item.isFolder && !isWholeMap(item)) this.addLegend(item, symbol, row, entry);
    if (item.isFolder) {
      const inner = this.list(item.children, depth + 1);
      inner.id = `${id}-in`;
      row.prepend(this.expander(item, inner));
      entry.append(inner);
    }
  }

  private isMissing(item: TreeItem): boolean {
    if (item.isFolder) return item.children.some((child) => this.isMissing(child));
    if (isWholeMap(item)) return [...this.missing].some((code) => code !== baseCode);
    return this.missing.has(item.element.code);
  }

  private addLegend(item: TreeItem, symbol: HTMLElement, row: HTMLElement, entry: HTMLElement): void {
    const { source, locale, toggled } = this;
    if (!source) return;
    const legend = new LayerLegend(item, symbol, { source, locale, toggled });
    legend.zoomed(this.zoom);
    this.legends.push({ item, legend });
    row.append(legend.toggle);
    entry.append(legend.element);
    const load = () => {
      const isOn = this.tree?.shown(item) !== "none";
      entry.classList.toggle("off", !isOn);
      if (this.isSeen.get(row)) void (isOn ? legend.load() : legend.loadSymbol());
    };
    load();
    this.loaders.set(row, load);
    this.refreshers.push(load);
    this.seen.observe(row);
  }

  private zoomButton(item: TreeItem): HTMLElement | undefined {
    if (!this.tree?.extent([item])) return undefined;
    const name = this.t("zoomToLayer", { name: item.title });
    return button(
      { class: "icon-button small tree-zoom", "aria-label": name, title: name },
      () => this.events.zoomTo(item),
      icon("target"),
    );
  }

  private menuButton(item: TreeItem): HTMLElement | undefined {
    if (item.isFolder && !this.events.editing) return undefined;
    const name = this.t("layerMenu", { name: item.title });
    const opener = button(
      {
        class: "icon-button small tree-zoom tree-menu",
        "aria-label": name,
        title: name,
        "aria-expanded": "false",
      },
      () => this.events.menu(item, opener),
      icon("more"),
    );
    return opener;
  }

  private expander(item: TreeItem, inner: HTMLElement): HTMLElement {
    const expander = button({ class: "icon-button small expander", "aria-controls": inner.id }, () => {
      inner.hidden = !inner.hidden;
      updateLabel();
    });
    expander.append(icon("chevron"));
    const updateLabel = () => {
      expander.setAttribute("aria-expanded", String(!inner.hidden));
      expander.setAttribute("aria-label", this.t(inner.hidden ? "expand" : "collapse", { name: item.title }));
    };
    updateLabel();
    return expander;
  }
}

/** Deeper rows stand no further in. */
const depthOf = (depth: number): number => Math.min(depth, 4);
