import { button, h } from "../dom.js";
import type { StartView } from "../first-view.js";
import type { Translate } from "../texts.js";

/** The part of the dialog that says what of a map its readers see at first. */

export interface StartViewEvents {
  /** They start with what the map shows now. */
  here(): void;
  /** They start with all of its data. */
  all(): void;
}
export interface StartViewPart {
  readonly elements: readonly HTMLElement[];
  /** @param mayPress whether it can be changed just now */
  show(startView: StartView | null, mayPress: boolean): void;
}

export function startViewPart(t: Translate, events: StartViewEvents): StartViewPart {
  const state = h("p", { class: "hint", role: "status" });
  const here = button({ class: "button start-here" }, () => events.here(), t("startHere"));
  const all = button({ class: "button start-all" }, () => events.all(), t("startAll"));
  return {
    elements: [h("h3", {}, t("startView")), state, h("div", { class: "publish-start" }, here, all)],
    show: (startView, mayPress) => {
      state.textContent = t(startView ? "startIsHere" : "startIsAll");
      all.hidden = startView === null;
      for (const control of [here, all]) control.disabled = !mayPress;
    },
  };
}
