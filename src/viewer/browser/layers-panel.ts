import type { BaseChoice } from "./address.js";
import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import { hasToolbarRoom, helpLink } from "./help-link.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import { LegendStrip } from "./legend-strip.js";
import { MapAbout } from "./map-about.js";
import type { LegendSource, MapInfo, ProjectInfo } from "./map-server.js";
import { dragToFold } from "./sheet.js";
import type { Translate } from "./texts.js";
import { baseCode, missingSign, type TreeEditing, TreeView } from "./tree-view.js";

export interface LayersPanelEvents {
  /** Layers or the base map were switched. */
  changed(): void;
  zoomTo(item: TreeItem): void;
  /** Opens the menu of a layer. */
  menu(item: TreeItem, opener: HTMLElement): void;
  readonly editing?: TreeEditing;
}

/** The base maps that can be chosen, and the one that is. */
export interface BaseOffer {
  /** What the map has. */
  readonly own: ProjectInfo["base"];
  readonly choice: BaseChoice;
  /** Whether its own, if it is the built-in one, writes names. */
  readonly hasNames: boolean;
}

/** What a map has, as the list of maps knows it. */
export function ownBase(
  project: ProjectInfo | undefined,
  map: MapInfo | undefined,
): Pick<BaseOffer, "own" | "hasNames"> {
  const { base = "builtin", baseHasNames = false } = map?.base ? map : (project ?? {});
  return { own: map?.hasBackground ? "none" : base, hasNames: baseHasNames };
}

/** Whom to name as the author of the base map that is shown. */
export function baseAttribution(
  t: Translate,
  { own, choice }: Omit<BaseOffer, "hasNames">,
  ofProject: string | undefined,
): string | undefined {
  if (choice === "none" || (own === "none" && choice === "own")) return undefined;
  return choice === "builtin" || own === "builtin" ? t("attributionBase") : ofProject;
}

/** The panel with the layers and the base map; a bottom sheet on phones. */
export class LayersPanel {
  readonly element: HTMLElement;
  private readonly treeView: TreeView;
  private readonly count = h("span", { class: "pill" });
  private readonly resetButton: HTMLButtonElement;
  private readonly header: HTMLButtonElement;
  /** Beside the heading, for the panel may be folded. */
  private readonly sign = h("span", { class: "panel-sign", role: "img", hidden: true }, icon("alert"));
  private readonly about: MapAbout;
  private readonly strip: LegendStrip;
  /** Where it is shown. */
  private readonly phones = window.matchMedia("(max-width: 640px)");
  private readonly isEmbedded: boolean;
  private zoom = 0;
  private readonly failure = h("p", { class: "hint layers-failure", role: "status", hidden: true });
  private missing: ReadonlySet<string> = new Set();
  private readonly body = h("div", { class: "layers-body", id: "layers-body" });
  private readonly baseSwitch = h("input", {
    type: "checkbox",
    role: "switch",
    class: "switch",
    id: "base-switch",
  });
  private readonly baseSelect: HTMLSelectElement;
  private readonly baseHint = h("small", {});
  private hasChoice = false;
  private readonly baseRow: HTMLElement;
  private readonly baseSign: HTMLElement;
  private readonly t: Translate;
  private readonly changed: () => void;
  private tree: LayerTree | undefined;

  constructor(locale: Locale, isFolded: boolean, events: LayersPanelEvents) {
    const { t } = locale;
    this.t = t;
    this.isEmbedded = isFolded;
    const changed = () => {
      this.refresh();
      events.changed();
    };
    this.changed = changed;
    this.treeView = new TreeView(locale, { ...events, switched: changed });
    this.strip = new LegendStrip(
      (item) => this.treeView.legendOf(item),
      () => this.fold(false),
    );
    this.phones.addEventListener("change", () => this.showStrip());
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
      this.sign,
      h("span", { class: "fold-mark" }, icon("chevron")),
    );
    this.baseSwitch.addEventListener("change", changed);
    this.baseSelect = h(
      "select",
      { class: "field base-select", id: "base-choice", "aria-label": t("baseMap"), hidden: true },
      h("option", { value: "own" }, t("baseOwn")),
      h("option", { value: "builtin" }, t("baseBuiltin")),
      h("option", { value: "none" }, t("baseNone")),
    );
    this.baseSelect.addEventListener("change", changed);
    this.baseSign = missingSign(t, t("baseMap"));
    this.baseRow = h(
      "div",
      { class: "base-row" },
      h("span", { class: "swatch" }, icon("globe")),
      h(
        "span",
        { class: "tree-text" },
        h("label", { class: "tree-name", for: "base-switch" }, t("baseMap"), this.baseHint),
        this.baseSign,
      ),
      this.baseSwitch,
      this.baseSelect,
    );
    this.about = new MapAbout(t);
    const above = events.editing ? [events.editing.bar] : [];
    this.body.append(this.about.element, this.failure, ...above, this.treeView.element, this.baseRow);
    if (!hasToolbarRoom()) this.body.append(helpLink(t, "text-button", true));
    this.element = h(
      "section",
      { class: "card layers", "aria-label": t("panel"), hidden: true },
      h("div", { class: "layers-top" }, this.header, this.resetButton),
      this.strip.element,
      this.body,
    );
    dragToFold(this.header, (fold) => this.fold(fold));
    this.fold(isFolded || this.phones.matches);
  }

  /** Shows a map's layers, and a choice of base maps where the project has one. */
  show(tree: LayerTree, { own, choice, hasNames }: BaseOffer, legends: LegendSource): void {
    this.tree = tree;
    this.treeView.show(tree, legends);
    this.baseRow.hidden = own === "none";
    // The built-in one is on or off; beside one of the project it is a third choice.
    this.hasChoice = own === "tiles";
    this.baseSwitch.hidden = this.hasChoice;
    // Nobody knows what one of the project shows.
    this.baseHint.hidden = this.hasChoice;
    this.baseHint.textContent = this.t(hasNames ? "baseBuiltin" : "baseUnnamed");
    this.baseSelect.hidden = !this.hasChoice;
    const shown = this.hasChoice || choice !== "builtin" ? choice : "own";
    this.baseSwitch.checked = shown !== "none";
    this.baseSelect.value = shown;
    this.element.hidden = false;
    this.refresh();
  }

  /** Switches layers, and all that is in folders. */
  switch(items: readonly TreeItem[], isOn: boolean): void {
    for (const item of items) this.tree?.set(item, isOn);
    this.treeView.refresh();
    this.changed();
  }

  /** Shows what is said about the map; undefined = nothing is. */
  describe(text: string | undefined): void {
    this.about.show(text);
  }

  /** Marks what tiles lack, as it cannot be drawn just now. @param codes of layers, and that of the base map */
  markMissing(codes: ReadonlySet<string>): void {
    this.missing = codes;
    this.treeView.markMissing(codes);
    this.baseSign.hidden = !codes.has(baseCode);
    this.markHeader();
  }

  /** Says that tiles are missing, as long as they are. @param text undefined = all are there */
  markFailed(text: string | undefined): void {
    this.failure.textContent = text ?? "";
    this.failure.hidden = text === undefined;
    this.markHeader();
  }

  private markHeader(): void {
    const text = this.failure.textContent || this.t("layersNotDrawn");
    this.sign.title = text;
    this.sign.setAttribute("aria-label", text);
    this.sign.hidden = this.missing.size === 0 && this.failure.hidden;
  }

  /** The map shows another zoom. */
  zoomed(zoom: number): void {
    this.treeView.zoomed(zoom);
    if (this.zoom === zoom) return;
    this.zoom = zoom;
    this.showStrip();
  }

  /** Loads the legends of the layers that are on, also of those that are not seen. */
  loadLegends(): Promise<void> {
    return this.treeView.loadLegends();
  }

  hide(): void {
    this.element.hidden = true;
  }

  get base(): BaseChoice {
    if (this.hasChoice) return this.baseSelect.value as BaseChoice;
    return this.baseSwitch.checked ? "own" : "none";
  }

  private get isOpen(): boolean {
    return !this.body.hidden;
  }

  private fold(fold: boolean): void {
    this.body.hidden = fold;
    this.element.classList.toggle("folded", fold);
    this.header.setAttribute("aria-expanded", String(!fold));
    this.header.title = this.t(fold ? "showPanel" : "hidePanel");
    this.showStrip();
  }

  private showStrip(): void {
    const isWanted = !this.isOpen && this.phones.matches && !this.isEmbedded;
    void this.strip.show(isWanted ? this.tree : undefined);
  }

  private refresh(): void {
    const all = this.tree?.leaves.length ?? 0;
    const on = this.tree?.visible.length ?? 0;
    this.count.textContent = this.t("layersOn", { on, all });
    this.resetButton.hidden = this.tree?.selection === undefined;
    this.showStrip();
  }
}
