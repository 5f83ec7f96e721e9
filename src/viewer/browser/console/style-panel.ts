import type { Locale } from "../attributes.js";
import { button, h, icon } from "../dom.js";
import { hasObjects, type TreeItem } from "../layer-tree.js";
import type { ColumnInfo, MapId } from "../map-server.js";
import type { Translate } from "../texts.js";
import { ownColumns } from "../value-columns.js";
import type { StylePlace } from "./carto-parts.js";
import { keepFocus } from "./focus.js";
import type { DraftOwner } from "./layer-drafts.js";
import { openLocalStorage } from "./local-storage.js";
import { problemText } from "./problem.js";
import { StyleDrafts } from "./style-drafts.js";
import { readForm } from "./style-form.js";
import { type StyledText, StyleFormView } from "./style-form-view.js";
import { placeOf, StyleSourceView } from "./style-source-view.js";
import { savedVisual, type VisualEvents, VisualWork } from "./visual/work.js";

/** How a layer looks: set by a form, or written as CartoCSS. Both change the same text, which is a draft until it is saved. */

export interface StylePanelEvents {
  /** Opens the objects of the layer; undefined = it has none. */
  objects(item: TreeItem): (() => void) | undefined;
  columns(item: TreeItem): Promise<readonly ColumnInfo[]>;
  /** The map that is open. */
  mapId(): MapId | undefined;
  /** @returns what the server notes about the style @throws ServerError */
  save(mapId: MapId, item: TreeItem, css: string): Promise<readonly string[]>;
  /** Shows the layer by this on the map; undefined = as it is saved. */
  preview(item: TreeItem, body: object | undefined): void;
  readonly visual: Pick<VisualEvents, "tried" | "save" | "values">;
  /** Whose drafts are shown. */
  owner(): DraftOwner;
  /** What was to be saved is. */
  saved(): void;
  /** The layer may have a draft now, or none any more. */
  drafted(item: TreeItem): void;
  closed(item: TreeItem | undefined): void;
}

/** Types of columns whose values are written on a map. */
const written: ReadonlySet<string> = new Set(["string", "text", "number", "datetime", "bool"]);
const modes = ["form", "visual", "text"] as const;
type Mode = (typeof modes)[number];

export class StylePanel implements StyledText {
  readonly element: HTMLElement;
  private readonly drafts: StyleDrafts;
  private savings: Promise<void> = Promise.resolve();
  private readonly title = h("h2", {});
  private readonly tabs: Readonly<Record<Mode, HTMLButtonElement>>;
  private readonly form: StyleFormView;
  private readonly source: StyleSourceView;
  private readonly visual: VisualWork;
  private readonly problem = h("p", {
    class: "problem style-problem",
    role: "alert",
    id: "style-problem",
    hidden: true,
  });
  private readonly notes = h("ul", { class: "style-notes", role: "status", hidden: true });
  private readonly saving: HTMLButtonElement;
  private readonly reset: HTMLButtonElement;
  private readonly objects: HTMLButtonElement;
  private readonly t: Translate;
  private mode: Mode = "form";
  private item: TreeItem | undefined;
  private columns: readonly ColumnInfo[] = [];
  /** Whether the text that is written can be read, as far as is known. */
  private isReadable = true;

  constructor(
    { t, language }: Locale,
    private readonly events: StylePanelEvents,
  ) {
    this.t = t;
    const storage = openLocalStorage();
    this.drafts = new StyleDrafts(events.owner, storage);
    this.saving = button({ class: "button main" }, () => void this.save(), t("save"));
    this.reset = button({ class: "button" }, () => this.discard(), t("discard"));
    const tab = (mode: Mode, label: string) =>
      button(
        {
          class: "style-tab",
          role: "tab",
          id: `style-tab-${mode}`,
          "aria-controls": { form: "style-form", visual: "style-visual", text: "style-source" }[mode],
        },
        () => this.show(mode),
        label,
      );
    this.tabs = {
      form: tab("form", t("styleSimple")),
      visual: tab("visual", t("visualTab")),
      text: tab("text", "CartoCSS"),
    };
    this.form = new StyleFormView(t, this);
    this.source = new StyleSourceView(
      t,
      this.problem.id,
      (css) => this.draft(css),
      (isReadable) => {
        this.isReadable = isReadable;
        this.preview();
      },
    );
    const visual: VisualEvents = {
      ...events.visual,
      preview: (item, body) => this.isOpen(item) && events.preview(item, body),
      changed: () => {
        this.tell(undefined);
        this.mark();
      },
      failed: (item, error) => this.isOpen(item) && this.tell(problemText(error, t)),
    };
    this.visual = new VisualWork(t, language, visual, events.owner, storage);
    this.visual.element.setAttribute("aria-labelledby", "style-tab-visual");
    this.form.element.setAttribute("aria-labelledby", "style-tab-form");
    this.source.element.setAttribute("aria-labelledby", "style-tab-text");
    const bar = h(
      "div",
      { class: "style-tabs", role: "tablist", "aria-label": t("styleOf") },
      ...modes.map((mode) => this.tabs[mode]),
    );
    bar.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      const shown = modes.filter((mode) => !this.tabs[mode].hidden);
      const by = event.key === "ArrowRight" ? 1 : shown.length - 1;
      this.show(shown[(shown.indexOf(this.mode) + by) % shown.length]!);
      this.tabs[this.mode].focus();
    });
    const close = button(
      { class: "icon-button", "aria-label": t("close"), title: t("close") },
      () => this.close(),
      icon("close"),
    );
    this.objects = button(
      { class: "icon-button", "aria-label": t("objects"), title: t("objects") },
      () => this.item && this.events.objects(this.item)?.(),
      icon("table"),
    );
    this.element = h(
      "section",
      { class: "card object style-panel", "aria-label": t("styleOf"), hidden: true },
      h("header", { class: "object-header" }, this.title, this.objects, close),
      bar,
      h(
        "div",
        { class: "style-body" },
        ...[this.form.element, this.visual.element, this.source.element, this.problem, this.notes],
      ),
      h("footer", { class: "style-footer" }, this.reset, this.saving),
    );
    this.element.addEventListener("keydown", (event) => {
      // What is open in the editor of the text is closed first.
      if (event.key === "Escape" && !event.defaultPrevented) this.close();
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.save();
    });
  }

  /** Whether something that is not saved would be lost with the page. */
  get isUnsafe(): boolean {
    return this.drafts.isUnsafe || this.visual.isUnsafe;
  }

  /** Whether there is something of the layer that is not saved. */
  hasDraft(item: TreeItem): boolean {
    return this.drafts.isChanged(item.layerId, item.element.css_style ?? "") || this.visual.isChanged(item);
  }

  /** Lets go what is not saved of a layer, which gets another style. @returns brings it back */
  putAside(item: TreeItem): () => void {
    const bringBack = [this.drafts.putAside(item.layerId), this.visual.putAside(item)];
    const changed = () => {
      if (this.isOpen(item)) {
        this.events.preview(item, undefined);
        this.tell(undefined);
        this.render();
        this.preview();
      }
      this.events.drafted(item);
    };
    changed();
    return () => {
      for (const each of bringBack) each();
      changed();
    };
  }

  /** Another tab has written something: here it is seen when the layer is opened. */
  heard(name: string, text: string | null): void {
    this.drafts.heard(name, text, this.layerId);
    this.visual.heard(name, text, this.layerId);
  }

  /** Shows the style of a layer. */
  async open(item: TreeItem): Promise<void> {
    const isOther = item.layerId !== this.item?.layerId;
    if (isOther && this.item) this.events.preview(this.item, undefined);
    this.item = item;
    this.title.textContent = item.title;
    this.objects.hidden = this.events.objects(item) === undefined;
    this.element.hidden = false;
    if (isOther) {
      this.columns = [];
      this.source.columns([]);
      this.tell(undefined);
      if (!this.drafts.isChanged(item.layerId, this.saved)) this.drafts.discard(item.layerId);
      if (!this.visual.isChanged(item)) this.visual.discard(item);
      this.mode = this.firstMode(item);
      this.isReadable = this.mode !== "text";
    }
    this.render();
    this.preview();
    this.follow(item);
    const columns = await this.events.columns(item).catch(() => []); // labels are offered another time
    if (this.item?.layerId !== item.layerId) return;
    const own = ownColumns(columns);
    this.columns = own.filter(({ type }) => written.has(type));
    this.source.columns(own.filter(({ type }) => type !== "title").map(({ code }) => code));
    this.render();
  }

  /** The tree was loaded anew: the layer may have another name or style, or be gone. */
  renewed(item: TreeItem | undefined): void {
    if (!this.item || this.element.hidden) return;
    if (!item) {
      this.drafts.discard(this.item.layerId);
      this.visual.discard(this.item);
      this.close();
      return;
    }
    this.item = item;
    this.title.textContent = item.title;
    this.render();
    this.follow(item);
  }

  /** Tells of a draft that is meant for something else than the layer has by now. */
  private follow(item: TreeItem): void {
    if (!this.drafts.isOvertaken(item.layerId, this.saved) && !this.visual.isOvertaken(item)) return;
    this.drafts.rebase(item.layerId, this.saved);
    this.visual.rebase(item);
    this.tell(this.t("conflictStyle"));
  }

  get layerId(): number | undefined {
    return this.element.hidden ? undefined : this.item?.layerId;
  }

  close(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.visual.stop();
    if (this.item) this.events.preview(this.item, undefined);
    this.events.closed(this.item);
  }

  focus(): void {
    this.tabs[this.mode].focus();
  }

  private get saved(): string {
    return this.item?.element.css_style ?? "";
  }

  get css(): string {
    return (this.item && this.drafts.of(this.item.layerId)) ?? this.saved;
  }

  private show(mode: Mode): void {
    this.mode = mode;
    this.render();
    this.preview();
  }

  /** What a layer is drawn by is shown first. */
  private firstMode(item: TreeItem): Mode {
    if (savedVisual(item) || this.visual.hasDraft(item)) return "visual";
    return readForm(this.css) || this.css.trim() === "" ? "form" : "text";
  }

  /** Shows the draft that is looked at on the map. */
  private preview(): void {
    const { item } = this;
    if (!item) return;
    const css = this.drafts.of(item.layerId);
    const hasVisual = this.visual.hasDraft(item);
    if (hasVisual && (this.mode === "visual" || css === undefined)) this.visual.preview(item);
    else if (css === undefined || savedVisual(item)) this.events.preview(item, undefined);
    else if (this.isReadable) this.events.preview(item, { css_style: css });
  }

  private isOpen(item: TreeItem): boolean {
    return this.layerId === item.layerId;
  }

  changed(css: string): void {
    this.isReadable = true;
    this.draft(css);
    this.preview();
  }

  private draft(css: string): void {
    if (!this.item) return;
    this.drafts.set(this.item.layerId, css, this.saved);
    this.tell(undefined);
    this.mark();
  }

  private discard(): void {
    if (this.item && this.mode === "visual") {
      this.visual.discard(this.item);
      // A text that cannot be read takes its place on the map by nothing.
      this.events.preview(this.item, undefined);
    } else if (this.item) this.drafts.discard(this.item.layerId);
    this.preview();
    this.tell(undefined);
    this.render();
    this.keepFocus();
  }

  /** What is pressed goes, or cannot be pressed any more. */
  private keepFocus(): void {
    if (!this.element.hidden) keepFocus(this.tabs[this.mode]);
  }

  private mark(): void {
    const { item } = this;
    const isDraft =
      item !== undefined &&
      (this.mode === "visual" ? this.visual.hasDraft(item) : this.drafts.of(item.layerId) !== undefined);
    this.saving.disabled = !isDraft;
    this.reset.hidden = !isDraft;
    if (item) this.events.drafted(item);
  }

  private render(): void {
    for (const mode of modes) {
      const isShown = mode === this.mode;
      this.tabs[mode].setAttribute("aria-selected", String(isShown));
      this.tabs[mode].tabIndex = isShown ? 0 : -1;
    }
    this.tabs.visual.hidden = this.item !== undefined && !hasObjects(this.item);
    this.form.element.hidden = this.mode !== "form";
    this.source.element.hidden = this.mode !== "text";
    this.visual.element.hidden = this.mode !== "visual";
    this.source.show(this.css, this.item?.layerId);
    if (this.mode === "text") void this.source.load();
    this.form.show(this.item, this.columns);
    this.visual.show(this.item, this.columns);
    this.mark();
  }

  /** Saves the draft, after what is being saved already. */
  private save(): Promise<void> {
    const { item, mode } = this;
    // When its turn comes, another one may be open.
    const mapId = this.events.mapId();
    if (item && mapId)
      this.savings = this.savings.then(() =>
        mode === "visual" ? this.saveVisual(mapId, item) : this.saveNow(mapId, item),
      );
    return this.savings;
  }

  private async saveNow(mapId: MapId, item: TreeItem): Promise<void> {
    const css = this.drafts.of(item.layerId);
    if (css === undefined) return;
    this.saving.disabled = true;
    this.keepFocus();
    this.tell(undefined);
    // The page hears of it before the answer is here.
    this.drafts.rebase(item.layerId, css);
    try {
      const notes = await this.events.save(mapId, item, css);
      this.drafts.saved(item.layerId, css);
      this.events.saved();
      if (this.item?.layerId !== item.layerId) return;
      // The server may have another text, such as the default style for none.
      this.render();
      this.preview();
      this.note(notes);
    } catch (error) {
      const isOpen = this.item?.layerId === item.layerId;
      this.drafts.rebase(item.layerId, isOpen ? this.saved : (item.element.css_style ?? ""));
      if (isOpen) this.fail(error);
    } finally {
      this.mark();
      this.events.drafted(item);
      this.keepFocus();
    }
  }

  private async saveVisual(mapId: MapId, item: TreeItem): Promise<void> {
    this.saving.disabled = true;
    this.keepFocus();
    this.tell(undefined);
    try {
      await this.visual.save(mapId, item);
      this.events.saved();
      if (!this.isOpen(item)) return;
      this.events.preview(item, undefined);
      this.render();
      this.preview();
    } catch (error) {
      if (this.isOpen(item)) this.tell(problemText(error, this.t));
    } finally {
      this.mark();
      this.events.drafted(item);
      this.keepFocus();
    }
  }

  private note(notes: readonly string[]): void {
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(...notes.map((note) => h("li", {}, note)));
  }

  private fail(error: unknown): void {
    const place = placeOf(error);
    this.tell(problemText(error, this.t), place);
    if (!place) return;
    this.show("text");
    this.source.goTo(place);
  }

  private tell(text: string | undefined, place?: StylePlace): void {
    this.problem.textContent = text ?? "";
    this.problem.hidden = text === undefined;
    this.note([]);
    this.source.tell(text === undefined ? undefined : { text, place });
  }
}
