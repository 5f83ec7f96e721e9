import { button, h, icon } from "../dom.js";
import type { TextKey, Translate } from "../texts.js";
import { showDialog } from "../tools/dialog.js";
import { keepFocus } from "./focus.js";
import { problemText } from "./problem.js";
import { Turns } from "./turns.js";

/** A large dialog with two tabs, such as people and keys; its style sheet is people.css. */

/** What is shown in the dialog. */
export interface TabView<Tab extends string> {
  readonly tab: Tab;
  /** Default: that of the tab. */
  readonly title?: string;
  /** Default: it is the first of its tab. */
  readonly back?: () => TabView<Tab>;
  /** As it is now; called after each change. */
  render(): readonly HTMLElement[];
}
type DialogParts = Parameters<typeof showDialog>[0];

/** Its tabs, the view that is shown, and what is said about changes. */
export class TabbedDialog<Tab extends string> {
  readonly dialog: HTMLDialogElement;
  readonly t: Translate;
  private readonly tabs: Readonly<Record<Tab, HTMLButtonElement>>;
  private readonly bar = h("div", { class: "people-bar" });
  private readonly content: HTMLElement;
  private readonly problem = h("p", { class: "problem", role: "alert" });
  private readonly note = h("p", { class: "hint people-note", role: "status" });
  private readonly turns = new Turns();
  private view: TabView<Tab> | undefined;

  constructor(
    readonly parts: DialogParts,
    title: TextKey,
    texts: Readonly<Record<Tab, TextKey>>,
    /** The first view of a tab. */
    first: (tab: Tab) => TabView<Tab>,
  ) {
    const { t } = parts.locale;
    this.t = t;
    const tab = (name: Tab) =>
      button(
        { class: "style-tab", role: "tab", id: `people-tab-${name}`, "aria-controls": "people-content" },
        () => this.go(first(name)),
        t(texts[name]),
      );
    const names = Object.keys(texts) as Tab[];
    this.tabs = Object.fromEntries(names.map((name) => [name, tab(name)])) as Record<Tab, HTMLButtonElement>;
    const list = h("div", { class: "style-tabs", role: "tablist", "aria-label": t(title) });
    list.append(...names.map((name) => this.tabs[name]));
    list.addEventListener("keydown", ({ key }) => {
      if (key !== "ArrowLeft" && key !== "ArrowRight") return;
      const other = names.find((name) => name !== (this.view?.tab ?? names[0]))!;
      this.go(first(other));
      this.tabs[other].focus();
    });
    this.content = h("div", { class: "people-content", role: "tabpanel", id: "people-content" });
    this.dialog = showDialog(parts, t(title), list, this.bar, this.content, this.problem, this.note);
    this.dialog.classList.add("people-dialog");
  }

  get isOpen(): boolean {
    return this.dialog.open;
  }

  go(view: TabView<Tab>): void {
    this.view = view;
    this.problem.textContent = "";
    this.note.textContent = "";
    const { title, back, tab } = view;
    for (const [name, element] of Object.entries<HTMLButtonElement>(this.tabs)) {
      element.setAttribute("aria-selected", String(name === tab));
      element.tabIndex = name === tab ? 0 : -1;
    }
    this.content.setAttribute("aria-labelledby", `people-tab-${tab}`);
    const heading = title !== undefined && h("h3", { tabindex: -1 }, title);
    this.bar.hidden = !heading;
    this.bar.replaceChildren(
      ...(back
        ? [
            button(
              { class: "icon-button", "aria-label": this.t("back"), title: this.t("back") },
              () => this.go(back()),
              icon("back"),
            ),
          ]
        : []),
      ...(heading ? [heading] : []),
    );
    this.content.replaceChildren();
    this.render();
    this.content.scrollTop = 0;
    if (heading) heading.focus();
    else this.tabs[tab].focus();
  }

  /** Shows the view as it is now; what had the focus has it again. */
  render(): void {
    const { view } = this;
    if (!view || !this.isOpen) return;
    const { activeElement: one } = document;
    const focused = one instanceof HTMLElement && this.content.contains(one) ? one : undefined;
    this.content.replaceChildren(...view.render());
    if (focused) {
      const { key } = focused.dataset;
      // A form that is made once has it in the same field.
      const again =
        key === undefined
          ? this.content.contains(focused) && focused
          : this.content.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
      if (again) again.focus({ preventScroll: true });
    }
    keepFocus(this.tabs[view.tab]);
  }

  /**
   * Changes something in its turn, and shows what it is then.
   * @param done what is said then; null = nothing
   * @returns false when it went wrong, which is told
   */
  work(change: () => Promise<void>, done: TextKey | null = "objectSaved"): Promise<boolean> {
    this.problem.textContent = "";
    this.note.textContent = "";
    const isDone = this.turns.take(change).then(
      () => true,
      (error: unknown) => {
        this.problem.textContent = problemText(error, this.t);
        return false;
      },
    );
    return isDone.then((isGood) => {
      if (isGood && done) this.note.textContent = this.t(done);
      // While more is to come, what the user has chosen stays as it is.
      if (this.turns.areOver) this.render();
      return isGood;
    });
  }

  /** Tells in the view what went wrong. */
  tell(error: unknown): void {
    this.problem.textContent = problemText(error, this.t);
  }

  readonly say = (text: string): void => {
    this.note.textContent = text;
  };
}
