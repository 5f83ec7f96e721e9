import { h } from "./dom.js";
import type { Translate } from "./texts.js";

/** Longer ones would leave the layers no room. */
const mostOpen = 200;

/** What is said about the open map. */
export class MapAbout {
  private readonly text = h("p", {});
  readonly element: HTMLDetailsElement;

  constructor(t: Translate) {
    this.element = h(
      "details",
      { class: "map-about", hidden: true },
      h("summary", {}, t("aboutMap")),
      this.text,
    );
  }

  /** @param text undefined = nothing is said */
  show(text = ""): void {
    // Whoever has opened or closed it is not disturbed.
    if (text === this.text.textContent) return;
    this.text.textContent = text;
    this.element.hidden = text === "";
    this.element.open = text.length <= mostOpen;
  }
}
