import type { Locale } from "./attributes.js";
import { colourRamp } from "./colour-ramp.js";
import { button, h, icon } from "./dom.js";
import type { TreeItem } from "./layer-tree.js";
import type { Legend, LegendClass, LegendSource } from "./map-server.js";
import { nestedBubbles } from "./nested-bubbles.js";
import { symbolImage, symbolPixels } from "./swatch.js";

/** The legend of a layer: its classes under the layer's row, each with its symbol as tiles draw it. */

/** A legend of more classes begins folded, so that it leaves room to other layers. */
const mostClassesShown = 20;

export class LayerLegend {
  /** Goes under the layer's row. */
  readonly element = h("ul", { class: "legend", hidden: true });
  private beginsFolded = false;
  /** Goes into the layer's row: folds the legend. */
  readonly toggle: HTMLButtonElement;
  private loaded: Promise<void> | undefined;
  private symbol: Promise<void> | undefined;
  private entries: { readonly element: HTMLElement; readonly shown: LegendClass }[] = [];
  private zoom = 0;

  /** @param swatch the symbol in the layer's row, which becomes that of the tiles */
  constructor(
    private readonly item: TreeItem,
    private readonly swatch: HTMLElement,
    private readonly parts: {
      readonly source: LegendSource;
      readonly locale: Locale;
      readonly toggled: ToggledLegends;
    },
  ) {
    this.toggle = button(
      { class: "icon-button small legend-toggle", hidden: true },
      () => this.fold(this.isOpen),
      icon("chevron"),
    );
    this.element.id = `legend-${item.layerId}`;
    this.toggle.setAttribute("aria-controls", this.element.id);
  }

  /** Loads it with the symbol, once. A legend that could not be loaded is tried again with the next call. */
  async load(): Promise<void> {
    this.loaded ??= this.read().catch(() => {
      this.loaded = undefined;
    });
    await Promise.all([this.loaded, this.loadSymbol()]);
  }

  /** Loads the symbol in the layer's row alone, likewise: that of a layer that is off is the one it would have. */
  loadSymbol(): Promise<void> {
    this.symbol ??= this.parts.source.symbol(this.item.element.code, symbolPixels).then(
      (address) => this.swatch.replaceChildren(symbolImage(address)),
      () => {
        this.symbol = undefined;
      },
    );
    return this.symbol;
  }

  private async read(): Promise<void> {
    const { source, toggled } = this.parts;
    const legend = await source.legend(this.item.element.code);
    const isAlone = legend?.classificators.length === 1 && legend.classificators[0]?.size === undefined;
    if (!legend?.showLegend || legend.classificators.length === 0 || isAlone) return;
    await this.fill(legend);
    this.toggle.hidden = false;
    this.beginsFolded = legend.classificators.length > mostClassesShown;
    this.fold(this.beginsFolded !== toggled.has(this.item.layerId));
  }

  /** Hides the classes that tiles do not show at a zoom. */
  zoomed(zoom: number): void {
    this.zoom = zoom;
    for (const { element, shown } of this.entries)
      element.hidden = zoom < (shown.minZoom ?? 0) || zoom > (shown.maxZoom ?? Number.POSITIVE_INFINITY);
  }

  private async fill(legend: Legend): Promise<void> {
    const { source, locale } = this.parts;
    const { code } = this.item.element;
    const texts = classTexts(legend, locale);
    const ramp = colourRamp(legend, texts);
    const sizeTitle = sizeTitleOf(legend, locale);
    const bubbles = nestedBubbles(legend, texts, sizeTitle);
    const symbols = await Promise.all(
      legend.classificators.map((_, at) => source.symbol(code, symbolPixels, at)),
    );
    const entries = legend.classificators.map((shown, at) => ({
      shown,
      element: h(
        "li",
        { class: "legend-class" },
        h("span", { class: "swatch", "aria-hidden": "true" }, symbolImage(symbols[at]!)),
        h("span", { class: "legend-text" }, texts[at] ?? ""),
      ),
    }));
    this.entries = entries;
    const firstSize = legend.classificators.findIndex(({ size }) => size !== undefined);
    const lines = entries.flatMap(({ shown, element }, at) => [
      ...(at === firstSize ? [...titleLine(sizeTitle), ...(bubbles ? [bubbles] : [])] : []),
      ...(bubbles && shown.size !== undefined ? [] : [element]),
    ]);
    this.element.replaceChildren(...titleLine(legend.title), ...(ramp ? [ramp] : lines));
    const more = legend.more ?? 0;
    if (more > 0)
      this.element.append(h("li", { class: "legend-class hint" }, locale.t("moreClasses", { n: more })));
    this.zoomed(this.zoom);
  }

  private get isOpen(): boolean {
    return !this.element.hidden;
  }

  private fold(fold: boolean): void {
    this.element.hidden = fold;
    this.parts.toggled.put(this.item.layerId, fold !== this.beginsFolded);
    const name = this.parts.locale.t(fold ? "showLegend" : "hideLegend", { name: this.item.title });
    this.toggle.setAttribute("aria-expanded", String(!fold));
    this.toggle.setAttribute("aria-label", name);
    this.toggle.title = name;
  }
}

/** What the classes stand for, in words. */
function classTexts(legend: Legend, locale: Locale): string[] {
  const isLast = ({ isNoData, noRoom }: LegendClass) => isNoData === true || noRoom !== undefined;
  const classes = legend.classificators.filter((one) => !isLast(one));
  return [
    ...valueTexts({ ...legend, classificators: classes }, locale),
    ...legend.classificators
      .filter(isLast)
      .map(({ noRoom }) =>
        locale.t(noRoom === undefined ? "noData" : noRoom === "dot" ? "noRoom" : "littleRoom"),
      ),
  ];
}

function valueTexts({ classificators }: Legend, { t }: Locale): string[] {
  // Colours from few to many objects.
  if (classificators.every(({ value }) => value === null))
    return classificators.map((_, at) =>
      at === 0 ? t("legendLeast") : at === classificators.length - 1 ? t("legendMost") : "",
    );
  return classificators.map(
    ({ value, text }) => text ?? (value === null ? t("otherObjects") : String(value)),
  );
}

/** What the sizes of charts tell. */
function sizeTitleOf({ sizeTitle }: Legend, { t }: Locale): string | undefined {
  if (sizeTitle === undefined) return undefined;
  return t("chartSize", { name: sizeTitle ?? t("sumOfParts") });
}

const titleLine = (title: string | undefined): HTMLElement[] =>
  title ? [h("li", { class: "legend-title" }, title)] : [];

const storageKey = "mapwright.legends.toggled";
/** Of those that are toggled the last ones are remembered. */
const mostRemembered = 500;

/** Which legends the user has folded, or unfolded where they begin folded, remembered by the browser. */
export class ToggledLegends {
  private readonly layers: Set<number>;

  constructor() {
    let stored: unknown;
    try {
      stored = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    } catch {
      // Storage is disabled, or what is stored is not ours.
    }
    this.layers = new Set(Array.isArray(stored) ? stored.filter((id) => Number.isSafeInteger(id)) : []);
  }

  has(layer: number): boolean {
    return this.layers.has(layer);
  }

  put(layer: number, isToggled: boolean): void {
    if (this.layers.has(layer) === isToggled) return;
    this.layers.delete(layer);
    if (isToggled) this.layers.add(layer);
    try {
      localStorage.setItem(storageKey, JSON.stringify([...this.layers].slice(-mostRemembered)));
    } catch {
      // Without storage it is forgotten with the page.
    }
  }
}
