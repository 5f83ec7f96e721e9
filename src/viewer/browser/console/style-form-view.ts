import { h } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import type { ColumnInfo } from "../map-server.js";
import type { TextKey, Translate } from "../texts.js";
import {
  labelsOf,
  readForm,
  type StyleForm,
  type SymbolField,
  type SymbolForm,
  withLabel,
  withSymbol,
  withZooms,
} from "./style-form.js";

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

/** What a form changes, and of what. */
export interface StyledText {
  readonly css: string;
  changed(css: string): void;
}

/** A style as a form, as far as one can show it. */
export class StyleFormView {
  readonly element = h("div", { class: "style-form", role: "tabpanel", id: "style-form" });
  private item: TreeItem | undefined;
  private columns: readonly ColumnInfo[] = [];
  /** Those that the layer had last. */
  private labels = "";

  constructor(
    private readonly t: Translate,
    private readonly text: StyledText,
  ) {}

  /** @param columns whose values can be written */
  show(item: TreeItem | undefined, columns: readonly ColumnInfo[]): void {
    if (item?.layerId !== this.item?.layerId) this.labels = "";
    this.item = item;
    this.columns = columns;
    this.render();
  }

  private render(): void {
    // What has the focus must not go away under it.
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : undefined;
    this.element.replaceChildren(...this.controls());
    if (focused) document.getElementById(focused)?.focus();
  }

  private controls(): HTMLElement[] {
    const { t } = this;
    const { visualSettings, visualCustomSettings } = this.item?.element ?? {};
    if (visualCustomSettings) return [h("p", { class: "hint" }, t("visualPlugin"))];
    if (visualSettings) return [h("p", { class: "hint" }, t("styleVisualization", { tab: t("visualTab") }))];
    const form = readForm(this.text.css);
    if (!form) return [h("p", { class: "hint" }, t(this.text.css.trim() === "" ? "styleNone" : "styleKept"))];
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
    let from = this.text.css;
    let made: string | undefined;
    const set = (next: string | number) => {
      if (this.text.css !== made) from = this.text.css;
      made = withSymbol(from, kind, field, next);
      this.text.changed(made);
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
      const { css } = this.text;
      if (select.value === "?") return;
      // Who takes labels off may want them back as they were.
      this.labels = labelsOf(css) || this.labels;
      const column = select.value === "" ? null : select.value.slice(1);
      this.text.changed(withLabel(css, column, this.labels));
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
        if (!isNowhere) this.text.changed(withZooms(this.text.css, least, most));
      });
    return h(
      "div",
      { class: "style-row", role: "group", "aria-label": t("styleZooms") },
      h("span", {}, t("styleZooms")),
      h("span", { class: "style-zooms" }, from, "–", to),
    );
  }
}
