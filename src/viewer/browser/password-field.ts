import { button, h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** A field for a password, which its user can show. */
export function passwordField(
  t: Translate,
  attributes: Readonly<Record<string, string | boolean>>,
): { readonly field: HTMLInputElement; readonly element: HTMLElement } {
  const field = h("input", { class: "field", type: "password", required: true, ...attributes });
  const reveal = button(
    { class: "icon-button small reveal", "aria-label": t("showPassword"), "aria-pressed": "false" },
    () => {
      const isShown = field.type === "password";
      field.type = isShown ? "text" : "password";
      reveal.setAttribute("aria-pressed", String(isShown));
      reveal.setAttribute("aria-label", t(isShown ? "hidePassword" : "showPassword"));
    },
    icon("eye"),
  );
  return { field, element: h("div", { class: "with-reveal" }, field, reveal) };
}
