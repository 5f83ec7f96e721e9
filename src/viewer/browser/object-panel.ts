import { attributeRows, attributeTable, type Locale, objectTitle } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import type { TreeItem } from "./layer-tree.js";
import type { ColumnInfo } from "./map-server.js";
import { ObjectPages } from "./object-pages.js";
import { type Hit, type Hits, shownCodes, viewerSetting } from "./objects.js";
import { dragToFold } from "./sheet.js";
import { drawnSwatch } from "./swatch.js";

export interface ObjectPanelEvents {
  /** Highlights an object on the map, or none. */
  highlight(hit: Hit | undefined): void;
  zoomTo(hit: Hit): void;
  /** The address of a layer's symbol. @throws when it can not be loaded */
  symbol(layer: TreeItem): Promise<string>;
  copy(text: string): void;
  /** The files of an object with these ids. @param gallery where its pictures are put */
  files(hit: Hit, ids: string, gallery: HTMLElement): Node;
  /** In which language names are preferred. */
  dataLanguage(): string;
  /** The attributes of another object are shown now, or of none. */
  shown(): void;
  closed(): void;
}

export interface Found extends Hits {
  readonly latlng: L.LatLng;
  readonly columns: {
    /** The columns of a layer, if they have come. */
    known(layer: TreeItem): readonly ColumnInfo[] | undefined;
    of(layer: TreeItem): Promise<readonly ColumnInfo[]>;
  };
}

/** The panel with the objects at a click: a list of several objects, or the attributes of one. */
export class ObjectPanel {
  readonly element: HTMLElement;
  private readonly content = h("div", { class: "object-content" });
  private readonly pages: ObjectPages;
  private found: Found | undefined;
  private shownHit: Hit | undefined;

  constructor(
    private readonly locale: Locale,
    private readonly events: ObjectPanelEvents,
  ) {
    const grip = h("div", { class: "grip", "aria-hidden": "true" });
    this.element = h(
      "aside",
      { class: "card object", "aria-label": locale.t("objectDetails"), tabindex: "-1", hidden: true },
      grip,
      this.content,
    );
    dragToFold(grip, (isDown) => isDown && this.close());
    this.pages = new ObjectPages(locale.t, (step) => this.turn(step));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
      const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
      if (step === 0 || !isPlain || !this.shownHit || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      this.turn(step);
    });
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  /** The object whose attributes are shown. */
  get shown(): Hit | undefined {
    return this.shownHit;
  }

  private setShown(hit: Hit | undefined): void {
    if (this.shownHit === hit) return;
    this.shownHit = hit;
    this.events.shown();
  }

  /** @param as.takesFocus false: the user has gone elsewhere meanwhile */
  show(found: Found, { takesFocus = true }: { readonly takesFocus?: boolean } = {}): void {
    this.found = found;
    this.element.hidden = false;
    const [only, second] = found.hits;
    if (only && !second) this.showObject(only);
    else this.showList();
    if (takesFocus) this.element.focus({ preventScroll: true });
  }

  close(): void {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.found = undefined;
    this.setShown(undefined);
    this.events.highlight(undefined);
    this.events.closed();
  }

  private columnsOf(layer: TreeItem): readonly ColumnInfo[] {
    return this.found?.columns.known(layer) ?? [];
  }

  private titleOf(hit: Hit): string {
    const preferred = viewerSetting(hit.layer, "title");
    const read = { ...this.locale, language: this.events.dataLanguage() };
    return objectTitle(hit.object, this.columnsOf(hit.layer), read, preferred);
  }

  private put(...parts: Node[]): void {
    const focused = document.activeElement;
    const hadFocus = this.content.contains(focused);
    this.content.replaceChildren(...parts);
    this.content.scrollTop = 0;
    // What had the focus may have stayed.
    if (!hadFocus) return;
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
    else this.element.focus({ preventScroll: true });
  }

  private closeButton(): HTMLElement {
    const { t } = this.locale;
    return button(
      { class: "icon-button", "aria-label": t("close"), title: t("close") },
      () => this.close(),
      icon("close"),
    );
  }

  private showList(): void {
    const { t } = this.locale;
    const hits = this.found?.hits ?? [];
    this.setShown(undefined);
    this.events.highlight(undefined);
    const byLayer = new Map<TreeItem, Hit[]>();
    for (const hit of hits) byLayer.set(hit.layer, [...(byLayer.get(hit.layer) ?? []), hit]);
    this.put(
      h(
        "header",
        { class: "object-header" },
        h("h2", {}, t("objectsHere", { n: hits.length })),
        this.closeButton(),
      ),
      h(
        "div",
        { class: "object-body hits" },
        ...[...byLayer].map(([layer, objects]) =>
          h(
            "section",
            {},
            h("h3", {}, drawnSwatch(layer, this.events.symbol(layer)), layer.title),
            h("ul", {}, ...objects.map((hit) => h("li", {}, this.listEntry(hit)))),
          ),
        ),
        this.found?.hasMore ? h("p", { class: "hint" }, t("moreObjects")) : undefined,
      ),
    );
  }

  private listEntry(hit: Hit): HTMLElement {
    const entry = button(
      { class: "hit" },
      () => {
        this.showObject(hit);
        this.content.querySelector<HTMLElement>("button")?.focus();
      },
      h("span", {}, this.titleOf(hit)),
      icon("chevron"),
    );
    entry.addEventListener("pointerenter", () => this.events.highlight(hit));
    entry.addEventListener("focus", () => this.events.highlight(hit));
    entry.addEventListener("pointerleave", () => this.events.highlight(undefined));
    return entry;
  }

  /** Shows the object before or after the one that is shown, of those at the click. */
  private turn(step: 1 | -1): void {
    const hits = this.found?.hits ?? [];
    if (!this.shownHit || hits.length < 2) return;
    const at = hits.indexOf(this.shownHit) + step;
    this.showObject(hits[(at + hits.length) % hits.length]!);
  }

  private showObject(hit: Hit): void {
    const { t } = this.locale;
    const { found } = this;
    this.setShown(hit);
    this.events.highlight(hit);
    if (found && !found.columns.known(hit.layer)) {
      // Until they come, titles are the codes of the columns.
      void found.columns.of(hit.layer).then((columns) => {
        if (columns.length > 0 && this.found === found && this.shownHit === hit) this.showObject(hit);
      });
    }
    const gallery = h("div", { class: "gallery" });
    const rows = attributeRows(hit.object, this.columnsOf(hit.layer), this.locale, {
      codes: shownCodes(hit.layer),
      filesOf: (ids) => this.events.files(hit, ids, gallery),
    });
    const hits = found?.hits ?? [];
    const several = hits.length > 1;
    if (several) this.pages.show(hits.indexOf(hit) + 1, hits.length, this.titleOf(hit));
    const back = t("backToList");
    this.put(
      h(
        "header",
        { class: "object-header" },
        several &&
          button(
            { class: "icon-button", "aria-label": back, title: back },
            () => this.showList(),
            icon("back"),
          ),
        h(
          "div",
          { class: "object-name" },
          h("h2", {}, this.titleOf(hit)),
          h(
            "p",
            { class: "object-layer" },
            drawnSwatch(hit.layer, this.events.symbol(hit.layer)),
            h("span", {}, hit.layer.title),
          ),
        ),
        this.closeButton(),
      ),
      ...(several ? [this.pages.element] : []),
      h(
        "div",
        { class: "object-body" },
        gallery,
        attributeTable(rows) ?? h("p", { class: "hint" }, t("noAttributes")),
      ),
      this.footer(hit),
    );
  }

  private footer(hit: Hit): HTMLElement {
    const { t } = this.locale;
    const latlng = this.found?.latlng.wrap();
    const coordinates = latlng ? `${latlng.lat.toFixed(5)}, ${latlng.lng.toFixed(5)}` : "";
    const copy = t("copyCoordinates");
    return h(
      "footer",
      { class: "object-footer" },
      button({ class: "button small" }, () => this.events.zoomTo(hit), icon("target"), t("zoomToObject")),
      button(
        { class: "text-button coordinates", title: copy, "aria-label": `${copy}: ${coordinates}` },
        () => this.events.copy(coordinates),
        coordinates,
        icon("copy"),
      ),
    );
  }
}
