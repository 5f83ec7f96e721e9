import { button, h, type IconName, icon } from "./dom.js";

/** A message in the centre of the page while there is no map. */
export interface StageMessage {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly actions?: readonly { readonly label: string; readonly isMain?: boolean; press(): void }[];
  /** To a page that tells more, beside the map. */
  readonly link?: HTMLElement;
}

/** The centre of the page: a loading indicator or a message. */
export class Stage {
  readonly element = h("div", { class: "stage", hidden: true });

  /** Shows a spinner with a text. */
  loading(text: string): void {
    this.element.replaceChildren(
      h(
        "div",
        { class: "stage-loading", role: "status" },
        h("span", { class: "ring", "aria-hidden": "true" }),
        text,
      ),
    );
    this.element.hidden = false;
  }

  message(message: StageMessage): void {
    const actions = (message.actions ?? []).map((action) =>
      button({ class: action.isMain ? "button main" : "button" }, () => action.press(), action.label),
    );
    this.element.replaceChildren(
      h(
        "section",
        { class: "card stage-card", role: "alert" },
        h("span", { class: "stage-icon" }, icon(message.icon)),
        h("h2", {}, message.title),
        message.text !== undefined && h("p", {}, message.text),
        actions.length > 0 && h("div", { class: "stage-actions" }, ...actions),
        message.link,
      ),
    );
    this.element.hidden = false;
  }

  clear(): void {
    this.element.hidden = true;
    this.element.replaceChildren();
  }
}
