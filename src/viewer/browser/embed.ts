import { h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** The viewer in a page of others. */

/** Whether this page is the one that others may show in theirs. */
export const isEmbedded = (): boolean => /\/embed\/?$/.test(location.pathname);

/** A link to the whole viewer, at the view that is shown. */
export function openWhole(t: Translate, link: () => string): HTMLElement {
  const whole = h(
    "a",
    {
      class: "button raised",
      href: "./",
      target: "_blank",
      rel: "noopener",
      title: t("openWhole"),
      "aria-label": t("openWhole"),
    },
    icon("open"),
  );
  const update = () => {
    whole.href = link();
  };
  whole.addEventListener("pointerdown", update);
  whole.addEventListener("focus", update);
  return h("div", { class: "toolbar" }, whole);
}
