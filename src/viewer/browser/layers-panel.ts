import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import type { LegendSource } from "./map-server.js";
import { dragToFold } from "./sheet.js";
import type { Translate } from "./texts.js";
import { TreeView } from "./tree-view.js";

export interface LayersPanelEvents {
  /** Layers or the base map were switched. */
  changed(): void;
  zoomTo(item: TreeItem): void;
  /** Opens the menu of a layer. */
  menu(item: TreeItem, opener: HTMLElement): void;
}

/** The panel with the layers and the base map; a bottom sheet on phones. */
export class LayersPanel {
  readonly element: HTMLElement;
  private readonly treeView: TreeView;
  private readonly count = h("span", { class: "pill" });
  private readonly resetButton: HTMLButtonElement;
  private readonly header: HTMLButtonElement;
  private readonly body = h("div", { class: "layers-body", id: "layers-body" });
  private readonly baseSwitch = h("input", {
    type: "checkbox",
    role: "switch",
    class: "switch",
    id: "base-switch",
  });
  private readonly baseRow: HTMLElement;
  private readonly t: Translate;
  private tree: LayerTree | undefined;

  constructor(locale: Locale, events: LayersPanelEvents) {
    const { t } = locale;
    this.t = t;
    const changed = () => {
      this.refresh();
      events.changed();
    };
    this.treeView = new TreeView(locale, { ...events, switched: changed });
    this.resetButton = button({ class: "text-button", title: t("resetLayersHint"), hidden: true }, () => {
      this.tree?.reset();
      this.treeView.refresh();
      changed();
      this.header.focus();
    });
    this.resetButton.append(t("resetLayers"));
    this.header = button(
      { class: "layers-header", "aria-controls": "layers-body" },
      () => this.fold(this.isOpen),
      icon("layers"),
      h("span", { class: "layers-title" }, t("layers")),
      this.count,
      h("span", { class: "fold-mark" }, icon("chevron")),
    );
    this.baseSwitch.addEventListener("change", changed);
    this.baseRow = h(
      "div",
      { class: "base-row" },
      h("span", { class: "swatch" }, icon("globe")),
      h("label", { class: "tree-name", for: "base-switch" }, t("baseMap"), h("small", {}, t("baseMapHint"))),
      this.baseSwitch,
    );
    this.body.append(this.treeView.element, this.baseRow);
    this.element = h(
      "section",
      { class: "card layers", "aria-label": t("panel"), hidden: true },
      h("div", { class: "layers-top" }, this.header, this.resetButton),
      this.body,
    );
    dragToFold(this.header, (fold) => this.fold(fold));
    this.fold(window.matchMedia("(max-width: 640px)").matches);
  }

  /** Shows a map's layers; `base` is undefined where the project has no base map. */
  show(tree: LayerTree, base: boolean | undefined, legends: LegendSource): void {
    this.tree = tree;
    this.treeView.show(tree, legends);
    this.baseRow.hidden = base === undefined;
    this.baseSwitch.checked = base ?? true;
    this.element.hidden = false;
    this.refresh();
  }

  /** The map shows another zoom. */
  zoomed(zoom: number): void {
    this.treeView.zoomed(zoom);
  }

  hide(): void {
    this.element.hidden = true;
  }

  get base(): boolean {
    return this.baseSwitch.checked;
  }

  private get isOpen(): boolean {
    return !this.body.hidden;
  }

  private fold(fold: boolean): void {
    this.body.hidden = fold;
    this.element.classList.toggle("folded", fold);
    this.header.setAttribute("aria-expanded", String(!fold));
    this.header.title = this.t(fold ? "showPanel" : "hidePanel");
  }

  private refresh(): void {
    const all = this.tree?.leaves.length ?? 0;
    const on = this.tree?.visible.length ?? 0;
    this.count.textContent = this.t("layersOn", { on, all });
    this.resetButton.hidden = this.tree?.selection === undefined;
  }
}
