import { h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** Whether the toolbar has room for the link to the documentation. Elsewhere it is below the layers. */
export const hasToolbarRoom = (): boolean => window.matchMedia("(min-width: 861px)").matches;

/** Opens a page of the documentation beside the map. @param page such as `how-to/labels` */
export const pageLink = (page: string, text: string): HTMLElement =>
  h("a", { href: `docs/${page}`, target: "_blank" }, text);

/** Opens the documentation beside the map. @param withText whether its name is read, not only told by a hint */
export function helpLink(t: Translate, look: string, withText: boolean): HTMLElement {
  return h(
    "a",
    { class: `${look} help`, href: "docs/", target: "_blank", title: t("help"), "aria-label": t("help") },
    icon("help"),
    withText && t("help"),
  );
}
