import { ownColumns } from "../attributes.js";
import { button, h, icon } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import { type ColumnInfo, ServerError } from "../map-server.js";
import type { TextKey, Translate } from "../texts.js";
import { problemText } from "./problem.js";
import {
  readForm,
  type StyleForm,
  type SymbolField,
  type SymbolForm,
  withLabel,
  withSymbol,
  withZooms,
} from "./style-form.js";

/** How a layer looks: set by a form, or written as CartoCSS. Both change the same text, which is a draft until it is saved. */

export interface StylePanelEvents {
  columns(item: TreeItem): Promise<readonly ColumnInfo[]>;
  /** @returns what the server notes about the style @throws ServerError */
  save(item: TreeItem, css: string): Promise<readonly string[]>;
  closed(item: TreeItem | undefined): void;
}

/** Types of columns whose values are written on a map. */
const written: ReadonlySet<string> = new Set(["string", "text", "number", "datetime", "bool"]);
const modes = ["form", "text"] as const;
type Mode = (typeof modes)[number];
const lastZoom = 22;

const labels = {
  point: {
    fill: "styleFill",
    stroke: "styleOutline",
    width: "styleOutlineWidth",
    size: "styleSize",
    opacity: "opacity",
  },
  line: {
    stroke: "styleColour",
    width: "styleWidth",
    opacity: "opacity",
    fill: "styleFill",
    size: "styleSize",
  },
  polygon: {
    fill: "styleFill",
    stroke: "styleOutline",
    width: "styleOutlineWidth",
    opacity: "styleFillOpacity",
    size: "styleSize",
  },
} as const satisfies Record<SymbolForm["kind"], Record<SymbolField, TextKey>>;
const headings = { point: "stylePoints", line: "styleLines", polygon: "styleAreas" } as const;
/** From, to and step. */
const ranges = { width: [0, 20, 0.1], size: [1, 60, 0.5], opacity: [0, 1, 0.05] } as const;
const fields: readonly SymbolField[] = ["fill", "opacity", "stroke", "width", "size"];

export class StylePanel {
  readonly element: HTMLElement;
  /** Texts that are not saved, by layer. */
  private readonly drafts = new Map<number, string>();
  private savings: Promise<void> = Promise.resolve();
  private readonly title = h("h2", {});
  private readonly tabs: Readonly<Record<Mode, HTMLButtonElement>>;
  private readonly form = h("div", { class: "style-form", role: "tabpanel", id: "style-form" });
  private readonly text = h("textarea", {
    ...{
      class: "field style-text",
      spellcheck: "false",
      autocapitalize: "none",
      autocomplete: "off",
      wrap: "off",
    },
    id: "style-text-field",
  });
  private readonly source = h("div", { class: "style-source", role: "tabpanel", id: "style-source" });
  private readonly problem = h("p", {
    class: "problem style-problem",
    role: "alert",
    id: "style-problem",
    hidden: true,
  });
  private readonly notes = h("ul", { class: "style-notes", role: "status", hidden: true });
  private readonly saving: HTMLButtonElement;
  private readonly reset: HTMLButtonElement;
  private mode: Mode = "form";
  private item: TreeItem | undefined;
  private columns: readonly ColumnInfo[] = [];

  constructor(
    private readonly t: Translate,
    private readonly events: StylePanelEvents,
  ) {
    this.saving = button({ class: "button main" }, () => void this.save(), t("save"));
    this.reset = button({ class: "button" }, () => this.discard(), t("discard"));
    const tab = (mode: Mode, label: string) =>
      button(
        {
          class: "style-tab",
          role: "tab",
          id: `style-tab-${mode}`,
          "aria-controls": mode === "form" ? "style-form" : "style-source",
        },
        () => this.show(mode),
        label,
      );
    this.tabs = { form: tab("form", t("styleSimple")), text: tab("text", "CartoCSS") };
    this.form.setAttribute("aria-labelledby", "style-tab-form");
    this.source.setAttribute("aria-labelledby", "style-tab-text");
    this.text.setAttribute("aria-label", "CartoCSS");
    this.source.append(this.text);
    const bar = h(
      "div",
      { class: "style-tabs", role: "tablist", "aria-label": t("styleOf") },
      this.tabs.form,
      this.tabs.text,
    );
    bar.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      this.show(this.mode === "form" ? "text" : "form");
      this.tabs[this.mode].focus();
    });
    const close = button(
      { class: "icon-button", "aria-label": t("close"), title: t("close") },
      () => this.close(),
      icon("close"),
    );
    this.element = h(
      "section",
      { class: "card object style-panel", "aria-label": t("styleOf"), hidden: true },
      h("header", { class: "object-header" }, this.title, close),
      bar,
      h("div", { class: "style-body" }, this.form, this.source, this.problem, this.notes),
      h("footer", { class: "style-footer" }, this.reset, this.saving),
    );
    this.text.addEventListener("input", () => this.changed(this.text.value));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void this.save();
    });
  }

  /** Whether there is something that is not saved. */
  get hasDrafts(): boolean {
    return this.drafts.size > 0;
  }

  /** Shows the style of a layer. */
  async open(item: TreeItem): Promise<void> {
    const isOther = item.layerId !== this.item?.layerId;
    this.item = item;
    this.title.textContent = item.title;
    this.element.hidden = false;
    if (isOther) {
      this.columns = [];
      this.tell(undefined);
      this.mode = readForm(this.css) || this.css.trim() === "" ? "form" : "text";
    }
    this.render();
    const columns = await this.events.columns(item).catch(() => []); // labels are offered another time
    if (this.item?.layerId !== item.layerId) return;
    this.columns = ownColumns(columns).filter(({ type }) => written.has(type));
    this.render();
  }

  /** The tree was loaded anew: the layer may have another name or style, or be gone. */
  renewed(item: TreeItem | undefined): void {
    if (!this.item || this.element.hidden) return;
    if (!item) {
      this.drafts.delete(this.item.layerId);
      this.close();
      return;
    }
    this.item = item;
    this.title.textContent = item.title;
    this.render();
  }

  get layerId(): number | undefined {
    return this.element.hidden ? undefined : this.item?.layerId;
  }

  close(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.events.closed(this.item);
  }

  focus(): void {
    this.tabs[this.mode].focus();
  }

  private get saved(): string {
    return this.item?.element.css_style ?? "";
  }

  private get css(): string {
    return (this.item && this.drafts.get(this.item.layerId)) ?? this.saved;
  }

  private show(mode: Mode): void {
    this.mode = mode;
    this.render();
  }

  private changed(css: string): void {
    if (!this.item) return;
    if (css === this.saved) this.drafts.delete(this.item.layerId);
    else this.drafts.set(this.item.layerId, css);
    this.tell(undefined);
    this.mark();
  }

  private discard(): void {
    if (this.item) this.drafts.delete(this.item.layerId);
    this.tell(undefined);
    this.render();
  }

  private mark(): void {
    const isDraft = this.item !== undefined && this.drafts.has(this.item.layerId);
    this.saving.disabled = !isDraft;
    this.reset.hidden = !isDraft;
  }

  private render(): void {
    for (const mode of modes) {
      const isShown = mode === this.mode;
      this.tabs[mode].setAttribute("aria-selected", String(isShown));
      this.tabs[mode].tabIndex = isShown ? 0 : -1;
    }
    this.form.hidden = this.mode !== "form";
    this.source.hidden = this.mode !== "text";
    if (this.text.value !== this.css) this.text.value = this.css;
    // What has the focus must not go away under it.
    const focused = this.form.contains(document.activeElement) ? document.activeElement?.id : undefined;
    this.form.replaceChildren(...this.controls());
    if (focused) document.getElementById(focused)?.focus();
    this.mark();
  }

  private controls(): HTMLElement[] {
    const { t } = this;
    const mode = (this.item?.element as { style_mode?: number } | undefined)?.style_mode;
    if (mode === 3 || mode === 4) return [h("p", { class: "hint" }, t("styleVisualization"))];
    const form = readForm(this.css);
    if (!form) return [h("p", { class: "hint" }, t(this.css.trim() === "" ? "styleNone" : "styleKept"))];
    const several = form.symbols.length > 1;
    return [
      ...form.symbols.flatMap((symbol) => [
        ...(several ? [h("h3", {}, t(headings[symbol.kind]))] : []),
        ...fields.flatMap((field) => this.control(symbol, field)),
      ]),
      this.labelControl(form),
      this.zoomControl(form),
    ];
  }

  private control(symbol: SymbolForm, field: SymbolField): HTMLElement[] {
    const value = symbol[field];
    if (value === undefined) return [];
    const { kind } = symbol;
    const id = `style-${kind}-${field}`;
    const label = h("label", { for: id }, this.t(labels[kind][field]));
    // Of one text while it is moved: else what is rounded would add up, and proportions be lost at nothing.
    let from = this.css;
    let made: string | undefined;
    const set = (next: string | number) => {
      if (this.css !== made) from = this.css;
      made = withSymbol(from, kind, field, next);
      this.changed(made);
    };
    if (field === "fill" || field === "stroke") {
      const input = h("input", { type: "color", id, class: "style-colour", value: String(value) });
      input.addEventListener("input", () => set(input.value));
      return [h("div", { class: "style-row" }, label, input)];
    }
    const [min, max, step] = ranges[field];
    const shown = h("output", { for: id });
    const input = h("input", {
      type: "range",
      class: "slider",
      id,
      min,
      max: Math.max(max, Number(value)),
      step,
      value,
    });
    const tell = () => {
      const number = Number(input.value);
      shown.textContent = field === "opacity" ? `${Math.round(100 * number)} %` : String(number);
    };
    tell();
    input.addEventListener("input", () => {
      tell();
      set(Number(input.value));
    });
    return [h("div", { class: "style-row" }, label, input, shown)];
  }

  private labelControl(form: StyleForm): HTMLElement {
    const { t } = this;
    const option = (value: string, text: string) => h("option", { value }, text);
    const known = this.columns.map(({ code, name }) => option(`=${code}`, name || code));
    const isOther = form.label && !this.columns.some(({ code }) => code === form.label);
    const select = h(
      "select",
      { class: "field", id: "style-label" },
      option("", t("styleNoLabel")),
      ...(form.label === undefined ? [option("?", t("styleLabelText"))] : []),
      ...(isOther ? [option(`=${form.label}`, form.label!)] : []),
      ...known,
    );
    select.value = form.label === undefined ? "?" : form.label === null ? "" : `=${form.label}`;
    select.addEventListener("change", () => {
      if (select.value === "?") return;
      this.changed(withLabel(this.css, select.value === "" ? null : select.value.slice(1)));
      this.render();
    });
    return h("div", { class: "style-row" }, h("label", { for: "style-label" }, t("styleLabel")), select);
  }

  private zoomControl(form: StyleForm): HTMLElement {
    const { t } = this;
    const zoom = (id: string, label: string, value: number | undefined) =>
      h("input", {
        ...{ class: "field", type: "number", id, min: 0, max: lastZoom, step: 1, value: value ?? "" },
        ...{ "aria-label": label, placeholder: id === "style-from" ? 0 : lastZoom, inputmode: "numeric" },
      });
    const from = zoom("style-from", t("styleMinZoom"), form.minZoom);
    const to = zoom("style-to", t("styleMaxZoom"), form.maxZoom);
    const read = ({ value }: HTMLInputElement) =>
      value === "" ? undefined : Math.min(lastZoom, Math.max(0, Math.round(Number(value))));
    for (const input of [from, to])
      input.addEventListener("input", () => {
        const [least, most] = [read(from), read(to)];
        const isNowhere = least !== undefined && most !== undefined && least > most;
        for (const one of [from, to]) one.setAttribute("aria-invalid", String(isNowhere));
        if (!isNowhere) this.changed(withZooms(this.css, least, most));
      });
    return h(
      "div",
      { class: "style-row", role: "group", "aria-label": t("styleZooms") },
      h("span", {}, t("styleZooms")),
      h("span", { class: "style-zooms" }, from, "–", to),
    );
  }

  /** Saves the draft, after what is being saved already. */
  private save(): Promise<void> {
    const { item } = this;
    if (item) this.savings = this.savings.then(() => this.saveNow(item));
    return this.savings;
  }

  private async saveNow(item: TreeItem): Promise<void> {
    const css = this.drafts.get(item.layerId);
    if (css === undefined) return;
    this.saving.disabled = true;
    this.tell(undefined);
    try {
      const notes = await this.events.save(item, css);
      // What was written meanwhile is the next draft.
      if (this.drafts.get(item.layerId) === css) this.drafts.delete(item.layerId);
      if (this.item?.layerId !== item.layerId) return;
      // The server may have another text, such as the default style for none.
      this.render();
      this.note(notes);
    } catch (error) {
      if (this.item?.layerId === item.layerId) this.fail(error);
    } finally {
      this.mark();
    }
  }

  private note(notes: readonly string[]): void {
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(...notes.map((note) => h("li", {}, note)));
  }

  private fail(error: unknown): void {
    this.tell(problemText(error, this.t));
    // The server tells the place in its sentence only.
    const [, line, column] =
      (error instanceof ServerError &&
        error.code === "invalid_style" &&
        /^Line (\d+)(?:, column (\d+))?/.exec(error.told)) ||
      [];
    if (line === undefined) return;
    this.show("text");
    this.text.setAttribute("aria-invalid", "true");
    const lines = this.text.value.split("\n");
    const before = lines.slice(0, Number(line) - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const length = lines[Number(line) - 1]?.length ?? 0;
    this.text.focus();
    this.text.setSelectionRange(before + (column ? Number(column) - 1 : 0), before + length);
    const height = Number.parseFloat(getComputedStyle(this.text).lineHeight) || 18;
    this.text.scrollTop = Math.max(0, (Number(line) - 3) * height);
  }

  private tell(text: string | undefined): void {
    this.problem.textContent = text ?? "";
    this.problem.hidden = text === undefined;
    this.note([]);
    if (text === undefined) this.text.removeAttribute("aria-invalid");
    else this.text.setAttribute("aria-describedby", "style-problem");
  }
}
