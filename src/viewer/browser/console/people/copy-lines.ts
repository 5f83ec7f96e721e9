import { copyText } from "../../clipboard.js";
import { button, h, icon } from "../../dom.js";
import type { Frame } from "./frame.js";

/** Lines that can be read and copied. @param label what they are, for readers of screens */
export function copyLines(
  { t, say }: Pick<Frame, "t" | "say">,
  { text, label, rows = 2, isMain = true }: CopiedLines,
): HTMLElement {
  const field = h("textarea", {
    class: "field",
    readonly: true,
    rows,
    "aria-label": label,
    spellcheck: "false",
  });
  field.value = text;
  field.addEventListener("focus", () => field.select());
  const copy = button(
    { class: isMain ? "button main" : "button", "aria-label": `${t("copy")}: ${label}` },
    () =>
      void copyText(text).then((isCopied) => {
        if (!isCopied) {
          field.focus();
          return;
        }
        copy.replaceChildren(icon("check"), t("copied"));
        copy.setAttribute("aria-label", `${t("copied")}: ${label}`);
        say(t("copied"));
      }),
    icon("copy"),
    t("copy"),
  );
  return h("div", { class: "copy-row" }, field, copy);
}

export interface CopiedLines {
  readonly text: string;
  readonly label: string;
  readonly rows?: number;
  readonly isMain?: boolean;
}
