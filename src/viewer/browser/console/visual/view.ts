import { h } from "../../dom.js";
import type { TextKey, Translate } from "../../texts.js";
import { chartControls, weightControl } from "./chart-controls.js";
import { categoryControls, classControls } from "./class-controls.js";
import { choice, row } from "./controls.js";
import type { FormParts, VisualForm } from "./form-parts.js";
import {
  columnsFor,
  hasClasses,
  isChart,
  kinds,
  lacksColumn,
  ofKind,
  type Visual,
  withColumn,
} from "./settings.js";
import { colourControl, rangeControls, shapeControls } from "./size-controls.js";

/** The form of a visualization. */

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
export class VisualView {
  readonly element = h("div", { class: "style-form visual-form", role: "tabpanel", id: "style-visual" });
  private shown: VisualForm = {
    ...{ of: undefined, settings: undefined, columns: [], values: undefined },
    shapes: new Set(),
  };
  /** Whether a slider is being dragged. */
  private isHeld = false;
  /** Whether something has come that the form does not show yet. */
  private isLate = false;

  constructor(
    private readonly t: Translate,
    private readonly language: string,
    /** @param isGuess whether the column was not chosen by the user */
    private readonly changed: (settings: Visual | undefined, isGuess: boolean) => void,
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
    if (changed !== settings) this.changed(changed, false);
  }

  private controls(): HTMLElement[] {
    const { settings } = this.shown;
    if (!settings) return [this.kindControl(undefined)];
    const { t, language, shown: form } = this;
    const parts: FormParts = { t, language, form, change: (next) => this.change(next) };
    return [
      this.kindControl(settings),
      ...(settings.columnCode && !isChart(settings) ? [this.columnControl(settings)] : []),
      ...(hasClasses(settings) ? classControls(parts, settings) : []),
      ...(settings.type === kinds.categories ? categoryControls(parts, settings) : []),
      ...(isChart(settings) ? chartControls(parts, settings) : []),
      ...(settings.type === kinds.heat ? [weightControl(parts, settings)] : []),
      ...(settings.type === kinds.bubbles || settings.type === kinds.clusters
        ? [colourControl(parts, settings)]
        : []),
      ...(settings.type === kinds.colours || settings.type === kinds.categories
        ? shapeControls(parts, settings)
        : []),
      ...rangeControls(parts, settings),
      ...(settings.type === kinds.heat || settings.type === kinds.clusters
        ? []
        : [this.labelControl(settings)]),
      this.nameControl(settings),
    ];
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
    const select = choice("visual-kind", options, settings ? String(settings.type) : "", (value) =>
      this.changed(value === "" ? undefined : ofKind(Number(value), columns, this.shown.settings), true),
    );
    return row(t("visualKind"), "visual-kind", select);
  }

  private columnControl(settings: Visual): HTMLElement {
    const fit = columnsFor(settings.type, this.shown.columns);
    const options = fit.map(({ code, name }) => ({ value: code, text: name || code }));
    const select = choice("visual-column", options, settings.columnCode ?? "", (value) => {
      const column = fit.find(({ code }) => code === value);
      if (column) this.change((now) => withColumn(now, column));
    });
    return row(this.t("visualColumn"), "visual-column", select);
  }

  private labelControl(settings: Visual): HTMLElement {
    const { t } = this;
    const text = (settings.textSettings ?? {}) as { readonly column?: string | null };
    const options = [
      { value: "", text: t("styleNoLabel") },
      ...this.shown.columns.map(({ code, name }) => ({ value: `=${code}`, text: name || code })),
    ];
    const value = settings.showText === true && text.column ? `=${text.column}` : "";
    const select = choice("visual-label", options, value, (chosen) => {
      const { fromZoom: _, ...rest } = text as { readonly fromZoom?: number };
      const column = chosen === "" ? null : chosen.slice(1);
      this.change((now) => ({ ...now, showText: column !== null, textSettings: { ...rest, column } }));
    });
    return row(t("styleLabel"), "visual-label", select);
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
