import { button, h, icon } from "../../dom.js";
import type { Translate } from "../../texts.js";
import { keepFocus } from "../focus.js";
import type { ShapeKind } from "./shape.js";

/** The buttons above the table: make objects, undo and do again, delete those that are marked, go on with what is not saved. */

export interface ToolboxEvents {
  /** Undefined = an object without a place. */
  make(kind: ShapeKind | undefined): void;
  undo(): void;
  redo(): void;
  removeMarked(): void;
  /** Gives those that are marked, or all that are listed, the same value. */
  change(): void;
  /** Makes one object of those that are marked. */
  merge(): void;
  openDraft(): void;
}
export interface ToolboxState {
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  readonly marked: number;
  readonly listed: number;
  /** Whether something of those that are marked is not saved. */
  readonly isMarkedDraft: boolean;
  /** How many are not open. */
  readonly drafts: number;
  readonly isReady: boolean;
}

const keys = { Point: "newPoint", LineString: "newLine", Polygon: "newArea" } as const;

export class Toolbox {
  readonly elements: readonly HTMLElement[];
  private readonly making = h("span", { class: "object-tools" });
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly changing: HTMLButtonElement;
  private readonly merging: HTMLButtonElement;
  private readonly removing: HTMLButtonElement;
  private readonly drafts: HTMLButtonElement;
  /** Had the focus when it was hidden. */
  private left: HTMLElement | undefined;

  constructor(
    private readonly t: Translate,
    private readonly events: ToolboxEvents,
  ) {
    const tool = (name: string, keys: string, press: () => void, shape: "undo" | "redo") =>
      button(
        {
          class: "icon-button small",
          "aria-label": name,
          title: `${name} (${keys})`,
          "aria-keyshortcuts": keys.replace("Ctrl", "Control"),
        },
        press,
        icon(shape),
      );
    this.undo = tool(t("undo"), "Ctrl+Z", () => events.undo(), "undo");
    this.redo = tool(t("redo"), "Ctrl+Shift+Z", () => events.redo(), "redo");
    this.changing = button({ class: "button small worded", hidden: true }, () => events.change());
    this.merging = button({ class: "button small worded", hidden: true }, () => events.merge());
    this.removing = button({ class: "button small worded danger", hidden: true }, () =>
      events.removeMarked(),
    );
    this.drafts = button({ class: "button small worded", hidden: true }, () => events.openDraft());
    const history = h("span", { class: "object-tools" }, this.undo, this.redo);
    this.elements = [this.making, history, this.changing, this.merging, this.removing, this.drafts];
  }

  /** What kinds of objects can be made. */
  offer(kinds: readonly ShapeKind[]): void {
    const entry = (kind: ShapeKind) =>
      button(
        { class: "button small worded", "data-kind": kind },
        () => this.events.make(kind),
        icon("plus"),
        h("span", {}, this.t(keys[kind])),
      );
    this.making.replaceChildren(...kinds.map(entry));
  }

  update({ canUndo, canRedo, marked, listed, isMarkedDraft, drafts, isReady }: ToolboxState): void {
    const { t } = this;
    const focused = document.activeElement;
    this.undo.disabled = !canUndo;
    this.redo.disabled = !canRedo;
    this.changing.hidden = !isReady || listed < 2;
    const change = marked > 0 ? t("changeMarked", { n: marked }) : t("changeListed");
    this.changing.replaceChildren(icon("pencil"), change);
    // Hidden while something is done, it would lose the focus, to which a dialog gives it back.
    this.merging.hidden = marked < 2;
    this.merging.disabled = isMarkedDraft;
    this.merging.title = isMarkedDraft ? t("saveFirst") : "";
    this.merging.replaceChildren(icon("merge"), t("mergeMarked", { n: marked }));
    this.removing.hidden = marked === 0;
    this.removing.replaceChildren(icon("trash"), t("deleteMarked", { n: marked }));
    this.drafts.hidden = drafts === 0;
    this.drafts.textContent = t("draftsLeft", { n: drafts });
    for (const one of this.making.querySelectorAll("button")) one.disabled = !isReady;
    if (focused instanceof HTMLElement && focused.hidden && this.elements.includes(focused))
      this.left = focused;
    if (!isReady || !this.left) return;
    keepFocus(this.left, this.undo, this.making.querySelector("button"));
    this.left = undefined;
  }
}
