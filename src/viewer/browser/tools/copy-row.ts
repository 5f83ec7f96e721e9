import { copyText } from "../clipboard.js";
import { button, h, icon } from "../dom.js";
import type { ToolParts } from "../tool-parts.js";

/** A text that can be read and copied. */
export function copyRow(
  { locale, toasts }: Pick<ToolParts, "locale" | "toasts">,
  field: HTMLInputElement | HTMLTextAreaElement,
  { label, copied }: { readonly label: string; readonly copied: string },
): HTMLElement {
  field.addEventListener("focus", () => field.select());
  const done = button(
    { class: "button main" },
    () =>
      void copyText(field.value).then((isCopied) => {
        if (!isCopied) {
          field.focus();
          field.select();
          return;
        }
        toasts.show(copied, "good");
        done.replaceChildren(icon("check"), locale.t("copied"));
      }),
    icon("copy"),
    label,
  );
  return h("div", { class: "copy-row" }, field, done);
}
