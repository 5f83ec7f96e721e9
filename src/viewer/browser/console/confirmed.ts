import { button, h } from "../dom.js";
import { showDialog } from "../tools/dialog.js";

/** Asks before something is done that cannot be undone. */
export function confirmed(
  parts: Parameters<typeof showDialog>[0],
  { title, text, action }: { readonly title: string; readonly text: string; readonly action: string },
): Promise<boolean> {
  const { t } = parts.locale;
  let isConfirmed = false;
  const cancel = button({ class: "button" }, () => dialog.close(), t("cancel"));
  const confirm = button(
    { class: "button danger" },
    () => {
      isConfirmed = true;
      dialog.close();
    },
    action,
  );
  const dialog = showDialog(
    parts,
    title,
    h("p", { id: "confirmed-text" }, text),
    h("div", { class: "dialog-actions" }, cancel, confirm),
  );
  dialog.setAttribute("aria-describedby", "confirmed-text");
  cancel.focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(isConfirmed)));
}
