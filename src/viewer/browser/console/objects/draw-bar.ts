import { button, h, icon } from "../../dom.js";
import type { Translate } from "../../texts.js";
import type { ShapeKind } from "./shape.js";

/** The bar over the map while a shape is drawn or changed: one line high, for what is below it cannot be pressed. */

const briefs = { Point: "drawPointBrief", LineString: "drawLineBrief", Polygon: "drawAreaBrief" } as const;
const helps = { Point: "drawPoint", LineString: "drawLine", Polygon: "drawArea" } as const;

export class DrawBar {
  readonly element = h("section", { class: "card draw-bar", hidden: true });
  private readonly hint = h("p", { class: "hint", role: "status" });
  private readonly actions = h("div", { class: "draw-actions" });
  private readonly help = h("p", { class: "hint draw-help", id: "draw-help", hidden: true });
  private readonly helper: HTMLButtonElement;
  private what: ShapeKind | "reshape" = "reshape";
  private aim: string | undefined;
  private isCrowded = false;
  private isSnapped = false;

  constructor(private readonly t: Translate) {
    this.helper = button(
      {
        class: "icon-button small",
        "aria-label": t("howTo"),
        title: t("howTo"),
        "aria-controls": this.help.id,
        "aria-expanded": "false",
      },
      () => this.unfold(this.help.hidden),
      icon("help"),
    );
    this.element.setAttribute("aria-label", t("geometry"));
    const line = h("div", { class: "draw-hint" }, this.hint);
    this.element.append(line, this.helper, this.actions, this.help);
  }

  show(what: ShapeKind | "reshape", actions: readonly HTMLElement[]): void {
    this.what = what;
    this.aim = undefined;
    this.isCrowded = false;
    this.isSnapped = false;
    this.help.textContent = `${this.t(what === "reshape" ? "reshapeHint" : helps[what])} ${this.t("snapHint")}`;
    this.unfold(false);
    this.actions.replaceChildren(...actions);
    this.element.hidden = false;
    this.tell();
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** What is drawn now is for this. */
  tellAim(aim: string): void {
    this.aim = aim;
    this.tell();
  }

  /** There is no room for handles at all vertices. */
  tellCrowded(isCrowded: boolean): void {
    this.isCrowded = isCrowded;
    this.tell();
  }

  /** What is dragged or drawn lies at another object. */
  tellSnapped(isSnapped: boolean): void {
    if (this.isSnapped === isSnapped) return;
    this.isSnapped = isSnapped;
    this.tell();
  }

  private tell(): void {
    const { t, what } = this;
    const brief = this.aim ?? (what === "reshape" ? t("reshapeBrief") : t(briefs[what]));
    const text = this.isSnapped ? t("snapped") : this.isCrowded ? t("reshapeCrowded") : brief;
    // What is said again would be read out again.
    if (this.hint.textContent !== text) this.hint.textContent = text;
  }

  private unfold(isOpen: boolean): void {
    this.help.hidden = !isOpen;
    this.helper.setAttribute("aria-expanded", String(isOpen));
  }
}
