import { h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** The viewer in a page of others. */

/** Whether this page is the one that others may show in theirs. */
export const isEmbedded = (): boolean => /\/embed\/?$/.test(location.pathname);

/** The name of the map, as a link to the whole viewer at the view that is shown. */
export class WholeLink {
  private readonly title = h("span", { class: "whole-title" });
  readonly element = h(
    "a",
    { class: "button raised whole", href: "./", target: "_blank", rel: "noopener" },
    this.title,
    icon("open"),
  );

  constructor(
    private readonly t: Translate,
    link: () => string,
  ) {
    const update = () => {
      this.element.href = link();
    };
    this.element.addEventListener("pointerdown", update);
    this.element.addEventListener("focus", update);
    this.show("");
  }

  show(title: string): void {
    this.title.textContent = title;
    const label = this.t("openWhole");
    this.element.title = label;
    this.element.setAttribute("aria-label", title ? `${title}: ${label}` : label);
  }
}
