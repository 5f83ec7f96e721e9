import { classColour, paletteColours } from "../../../../visual/class-colours.js";
import { diverging, sequential } from "../../../../visual/color-brewer.js";
import { h } from "../../dom.js";
import type { TextKey, Translate } from "../../texts.js";
import { histogram } from "./histogram.js";
import {
  bordersOf,
  type Column,
  categoriesOf,
  chartColumnsOf,
  classedBy,
  columnsFor,
  hasClasses,
  hasOwnBorders,
  hasSpread,
  isChart,
  kinds,
  lacksColumn,
  ofKind,
  type Visual,
  withBorder,
  withCategory,
  withChartColumn,
  withClass,
  withColumn,
  withPalette,
} from "./settings.js";

/** The form of a visualization. */

export interface VisualForm {
  /** undefined = the layer has none */
  readonly settings: Visual | undefined;
  /** Id of the layer. */
  readonly of: number | undefined;
  readonly columns: readonly Column[];
  /** Of the column that it is built from; undefined = not read yet. */
  readonly values: readonly unknown[] | undefined;
}

const kindTexts: Readonly<Record<number, TextKey>> = {
  [kinds.colours]: "visualColours",
  [kinds.categories]: "visualCategories",
  [kinds.bubbles]: "visualBubbles",
  [kinds.pies]: "visualPies",
  [kinds.bars]: "visualBars",
  [kinds.lines]: "visualLines",
  [kinds.heat]: "visualHeat",
  [kinds.clusters]: "visualClusters",
};
const algorithmTexts: Readonly<Record<number, TextKey>> = {
  1: "visualEqual",
  2: "visualQuantiles",
  3: "visualNatural",
};
const mostClasses = 9;

interface Range {
  readonly label: TextKey;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly step?: number;
}
/** Numbers of `classesSettings` by kind. */
const ranges: Readonly<Record<number, readonly Range[]>> = {
  [kinds.bubbles]: [
    { label: "visualLeast", name: "pointSizeMin", from: 2, to: 60 },
    { label: "visualMost", name: "pointSizeMax", from: 4, to: 120 },
  ],
  [kinds.pies]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.bars]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.lines]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.heat]: [
    { label: "visualRadius", name: "markerSize", from: 4, to: 128 },
    { label: "visualIntensity", name: "markerOpacity", from: 0.05, to: 1, step: 0.05 },
  ],
  [kinds.clusters]: [{ label: "visualRadius", name: "radius", from: 24, to: 128 }],
};
const opacity: Range = { label: "opacity", name: "opacity", from: 0, to: 1, step: 0.05 };

export class VisualView {
  readonly element = h("div", { class: "style-form visual-form", role: "tabpanel", id: "style-visual" });
  private shown: VisualForm = { of: undefined, settings: undefined, columns: [], values: undefined };
  /** Whether a slider is being dragged. */
  private isHeld = false;
  /** Whether something has come that the form does not show yet. */
  private isLate = false;

  constructor(
    private readonly t: Translate,
    private readonly language: string,
    private readonly changed: (settings: Visual | undefined) => void,
  ) {
    this.element.addEventListener("pointerdown", ({ target }) => {
      this.isHeld = target instanceof HTMLInputElement && target.type === "range";
    });
    for (const end of ["pointerup", "pointercancel"])
      window.addEventListener(end, () => {
        this.isHeld = false;
        this.showLate();
      });
    this.element.addEventListener("focusout", () => this.showLate());
  }

  show(form: VisualForm): void {
    const isSame = form.of === this.shown.of && form.settings?.type === this.shown.settings?.type;
    this.shown = form;
    // What is written or dragged would go with its control.
    this.isLate = isSame && (this.isHeld || this.isWriting);
    if (this.isLate) return;
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : undefined;
    this.element.replaceChildren(...this.controls());
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  private get isWriting(): boolean {
    const focused = document.activeElement;
    return this.element.contains(focused) && focused?.matches("#visual-name, [type=color]") === true;
  }

  /** After the press that has taken the focus away. */
  private showLate(): void {
    if (this.isLate) window.setTimeout(() => this.isLate && this.show(this.shown), 300);
  }

  /** Changes the settings as they are by now, of which a control may have been made before. */
  private change(next: (now: Visual) => Visual): void {
    const { settings } = this.shown;
    const changed = settings && next(settings);
    if (changed !== settings) this.changed(changed);
  }

  private controls(): HTMLElement[] {
    const { settings } = this.shown;
    if (!settings) return [this.kindControl(undefined)];
    return [
      this.kindControl(settings),
      ...(settings.columnCode && !isChart(settings) ? [this.columnControl(settings)] : []),
      ...(hasSpread(settings) ? this.spreadControls(settings) : []),
      ...(hasClasses(settings) ? this.classControls(settings) : []),
      ...(settings.type === kinds.categories ? this.categoryControls(settings) : []),
      ...(isChart(settings) ? this.chartControls(settings) : []),
      ...(settings.type === kinds.heat ? [this.weightControl(settings)] : []),
      ...(settings.type === kinds.bubbles || settings.type === kinds.clusters
        ? [this.colourControl(settings)]
        : []),
      ...[...(ranges[settings.type] ?? []), ...(settings.type === kinds.heat ? [] : [opacity])].map((range) =>
        this.rangeControl(settings, range),
      ),
      ...(settings.type === kinds.heat || settings.type === kinds.clusters
        ? []
        : [this.labelControl(settings)]),
      this.nameControl(settings),
    ];
  }

  private row(label: string, id: string, ...controls: readonly HTMLElement[]): HTMLElement {
    return h("div", { class: "style-row" }, h("label", { for: id }, label), ...controls);
  }

  private choice(
    id: string,
    options: readonly { readonly value: string; readonly text: string; readonly disabled?: boolean }[],
    value: string,
    chosen: (value: string) => void,
  ): HTMLSelectElement {
    const select = h(
      "select",
      { class: "field", id },
      ...options.map(({ value: one, text, disabled }) => h("option", { value: one, disabled }, text)),
    );
    select.value = value;
    select.addEventListener("change", () => chosen(select.value));
    return select;
  }

  private kindControl(settings: Visual | undefined): HTMLElement {
    const { t } = this;
    const { columns } = this.shown;
    const options = [
      { value: "", text: t("visualNone") },
      ...Object.values(kinds).map((type) => ({
        value: String(type),
        text: t(kindTexts[type]!),
        disabled: lacksColumn(type, columns),
      })),
    ];
    const select = this.choice("visual-kind", options, settings ? String(settings.type) : "", (value) =>
      this.changed(value === "" ? undefined : ofKind(Number(value), columns, this.shown.settings)),
    );
    return this.row(t("visualKind"), "visual-kind", select);
  }

  private columnControl(settings: Visual): HTMLElement {
    const fit = columnsFor(settings.type, this.shown.columns);
    const options = fit.map(({ code, name }) => ({ value: code, text: name || code }));
    const select = this.choice("visual-column", options, settings.columnCode ?? "", (value) => {
      const column = fit.find(({ code }) => code === value);
      if (column) this.change((now) => withColumn(now, column));
    });
    return this.row(this.t("visualColumn"), "visual-column", select);
  }

  private spreadControls(settings: Visual): HTMLElement[] {
    const { values, columns } = this.shown;
    if (!hasClasses(settings) || !values || bordersOf(settings).length < 2) return [];
    const isTime = columns.find(({ code }) => code === settings.columnCode)?.type === "datetime";
    const format = isTime
      ? new Intl.DateTimeFormat(this.language, { dateStyle: "medium", timeZone: "UTC" })
      : new Intl.NumberFormat(this.language, { maximumSignificantDigits: 6 });
    return [
      histogram(
        settings,
        values,
        {
          label: this.t("visualSpread"),
          border: (at) => this.t("visualBorder", { n: at }),
          value: (number) => format.format(isTime ? number * 1_000 : number),
        },
        { moved: (at, to) => this.change((now) => withBorder(now, at, to)) },
      ),
    ];
  }

  private classControls(settings: Visual): HTMLElement[] {
    const { t } = this;
    const own = hasOwnBorders(settings);
    const options = [
      ...(own || settings.algorithm === undefined
        ? [{ value: "", text: t(own ? "visualOwn" : "visualSuited") }]
        : []),
      ...[1, 2, 3].map((algorithm) => ({ value: String(algorithm), text: t(algorithmTexts[algorithm]!) })),
    ];
    const method = this.choice(
      "visual-method",
      options,
      own ? "" : String(settings.algorithm ?? ""),
      (value) => {
        if (value !== "") this.change((now) => classedBy(now, { algorithm: Number(value) }));
      },
    );
    const count = settings.classesCount ?? 5;
    return [
      this.row(t("visualMethod"), "visual-method", method),
      this.slider(
        {
          id: "visual-count",
          label: t("visualCount"),
          from: 1,
          to: Math.max(mostClasses, count),
          step: 1,
          value: count,
        },
        (value) => this.change((now) => classedBy(now, { classesCount: value })),
      ),
      this.paletteControl(settings, count),
    ];
  }

  private paletteControl(settings: Visual, count: number): HTMLElement {
    const { t } = this;
    const { palette, minColor, midColor, maxColor } = settings.classesSettings ?? {};
    const names = [...Object.keys(sequential), ...Object.keys(diverging)];
    const isOwn = !names.includes(String(palette));
    const options = [
      ...(isOwn ? [{ value: "", text: t("visualOwnColours") }] : []),
      ...names.map((name) => ({ value: name, text: name })),
    ];
    const select = this.choice("visual-palette", options, isOwn ? "" : String(palette), (value) => {
      if (value !== "") this.change((now) => withPalette(now, value));
    });
    const strip = h("span", { class: "visual-strip", "aria-hidden": "true" });
    const colours = paletteColours(palette, count) ?? [minColor, midColor, maxColor].map(String);
    for (let at = 0; at < count; at++) {
      const part = h("span", {});
      part.style.backgroundColor = classColour(colours, at, count);
      strip.append(part);
    }
    return h(
      "div",
      { class: "style-row visual-palette" },
      h("label", { for: "visual-palette" }, t("visualPalette")),
      select,
      strip,
    );
  }

  private categoryControls(settings: Visual): HTMLElement[] {
    const others = settings.classesSettings?.defaultClass as { color?: string } | undefined;
    const rows = categoriesOf(settings).map(({ value, color, count }, at) =>
      this.classRow(
        {
          id: `visual-class-${at}`,
          text: value === null || value === "" ? this.t("visualEmpty") : String(value),
          count,
        },
        color,
        (next) => this.change((now) => withCategory(now, at, { color: next })),
      ),
    );
    const rest = others?.color;
    return [
      ...rows,
      ...(rest
        ? [
            this.classRow(
              { id: "visual-others", text: this.t("visualOthers"), count: undefined },
              rest,
              (color) => this.change((now) => withClass(now, "defaultClass", { ...others, color })),
            ),
          ]
        : []),
    ];
  }

  private classRow(
    { id, text, count }: { readonly id: string; readonly text: string; readonly count: number | undefined },
    value: string,
    changed: (colour: string) => void,
  ): HTMLElement {
    const input = this.colour(id, value, changed);
    const number = count === undefined ? "" : new Intl.NumberFormat(this.language).format(count);
    return this.row(text, id, input, h("output", { for: id }, number));
  }

  private colour(id: string, value: string, changed: (colour: string) => void): HTMLInputElement {
    const input = h("input", { type: "color", id, class: "style-colour", value });
    input.addEventListener("change", () => changed(input.value));
    return input;
  }

  private colourControl(settings: Visual): HTMLElement {
    const color = String(settings.classesSettings?.color ?? "#2a6fbb");
    const input = this.colour("visual-colour", color, (next) =>
      this.change((now) => withClass(now, "color", next)),
    );
    return this.row(this.t("styleColour"), "visual-colour", input);
  }

  private chartControls(settings: Visual): HTMLElement[] {
    const shown = chartColumnsOf(settings);
    const fit = columnsFor(settings.type, this.shown.columns);
    const rows = fit.map(({ code, name }, at) => {
      const column = shown.find((each) => each.code === code);
      const id = `visual-part-${at}`;
      const box = h("input", { type: "checkbox", id, checked: column !== undefined });
      box.addEventListener("change", () => this.change((now) => withChartColumn(now, code, box.checked)));
      const colour =
        column &&
        this.colour(`${id}-colour`, column.color, (color) =>
          this.change((now) =>
            withClass(
              now,
              "columns",
              chartColumnsOf(now).map((each) => (each.code === code ? { ...each, color } : each)),
            ),
          ),
        );
      colour?.setAttribute("aria-label", `${name || code}: ${this.t("styleColour")}`);
      return h(
        "div",
        { class: "style-row" },
        h("label", { class: "visual-part", for: id }, box, name || code),
        ...(colour ? [colour] : []),
      );
    });
    return [h("div", { class: "visual-parts", role: "group", "aria-label": this.t("visualParts") }, ...rows)];
  }

  private weightControl(settings: Visual): HTMLElement {
    const { t } = this;
    const classes = settings.classesSettings ?? {};
    const fit = columnsFor(kinds.bubbles, this.shown.columns).filter(({ type }) => type === "number");
    const options = [
      { value: "", text: t("visualNoWeight") },
      ...fit.map(({ id, code, name }) => ({ value: String(id), text: name || code })),
    ];
    const value = classes.useWeight === true ? String(classes.useWeightField ?? "") : "";
    const select = this.choice("visual-weight", options, value, (chosen) =>
      this.change((now) => ({
        ...now,
        classesSettings: {
          ...now.classesSettings,
          useWeight: chosen !== "",
          useWeightField: chosen === "" ? null : Number(chosen),
          // Weights may be any numbers: they become those from nothing to one.
          weightNormalize: chosen !== "",
        },
      })),
    );
    return this.row(t("visualWeight"), "visual-weight", select);
  }

  private rangeControl(settings: Visual, { label, name, from, to, step = 1 }: Range): HTMLElement {
    const given = Number(settings.classesSettings?.[name]);
    const value = Number.isFinite(given) ? given : name === "opacity" ? 1 : from;
    return this.slider(
      { id: `visual-${name}`, label: this.t(label), from, to: Math.max(to, value), step, value },
      (next) => this.change((now) => withClass(now, name, next)),
    );
  }

  private slider(
    of: {
      readonly id: string;
      readonly label: string;
      readonly from: number;
      readonly to: number;
      readonly step: number;
      readonly value: number;
    },
    changed: (value: number) => void,
  ): HTMLElement {
    const { id, label, from, to, step, value } = of;
    const shown = h("output", { for: id });
    const input = h("input", { type: "range", class: "slider", id, min: from, max: to, step, value });
    const tell = () => {
      shown.textContent = to === 1 ? `${Math.round(100 * Number(input.value))} %` : input.value;
    };
    tell();
    input.addEventListener("input", tell);
    input.addEventListener("change", () => changed(Number(input.value)));
    return this.row(label, id, input, shown);
  }

  private labelControl(settings: Visual): HTMLElement {
    const { t } = this;
    const text = (settings.textSettings ?? {}) as { readonly column?: string | null };
    const options = [
      { value: "", text: t("styleNoLabel") },
      ...this.shown.columns.map(({ code, name }) => ({ value: `=${code}`, text: name || code })),
    ];
    const value = settings.showText === true && text.column ? `=${text.column}` : "";
    const select = this.choice("visual-label", options, value, (chosen) => {
      const { fromZoom: _, ...rest } = text as { readonly fromZoom?: number };
      const column = chosen === "" ? null : chosen.slice(1);
      this.change((now) => ({ ...now, showText: column !== null, textSettings: { ...rest, column } }));
    });
    return this.row(t("styleLabel"), "visual-label", select);
  }

  private nameControl(settings: Visual): HTMLElement {
    const input = h("input", {
      class: "field",
      id: "visual-name",
      value: String(settings.legendName ?? ""),
      maxlength: 500,
    });
    // The form may know more by then.
    input.addEventListener("input", () => {
      this.change((now) => ({ ...now, legendName: input.value }));
    });
    return h(
      "div",
      { class: "style-row visual-name" },
      h("label", { for: "visual-name" }, this.t("visualName")),
      input,
    );
  }
}
