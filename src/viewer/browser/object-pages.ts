import { button, h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** The line that leads from one of several objects to the next; the same elements for all of them, so that the focus stays. */
export class ObjectPages {
  readonly element: HTMLElement;
  private readonly place = h("span", { class: "page-number", "aria-hidden": "true" });
  /** The place and the title, for screen readers. */
  private readonly spoken = h("span", { class: "visually-hidden", role: "status" });

  constructor(
    private readonly t: Translate,
    turn: (step: 1 | -1) => void,
  ) {
    const step = (direction: 1 | -1, name: string) =>
      button(
        { class: "icon-button small", "aria-label": name, title: name },
        () => turn(direction),
        icon(direction === 1 ? "chevron" : "chevronLeft"),
      );
    this.element = h(
      "div",
      { class: "object-pages", role: "group", "aria-label": t("objectPages") },
      step(-1, t("previousObject")),
      this.place,
      step(1, t("nextObject")),
      this.spoken,
    );
  }

  /** @param at from 1 */
  show(at: number, all: number, title: string): void {
    const place = this.t("objectOf", { n: at, all });
    this.place.textContent = place;
    this.spoken.textContent = `${place}: ${title}`;
  }
}
