import { button, h, icon } from "../dom.js";
import type { ToolParts } from "../tool-parts.js";

/** Number of dialogs that were shown: one may be over another. */
let shown = 0;

/** Shows a dialog; it is removed when it is closed. */
export function showDialog(
  { root, locale }: Pick<ToolParts, "root" | "locale">,
  title: string,
  ...parts: HTMLElement[]
): HTMLDialogElement {
  const { t } = locale;
  const id = `tool-dialog-title-${++shown}`;
  const dialog = h(
    "dialog",
    { class: "card dialog tool-dialog", "aria-labelledby": id },
    h(
      "div",
      { class: "dialog-header" },
      h("h2", { id }, title),
      button(
        { class: "icon-button", "aria-label": t("close"), title: t("close") },
        () => dialog.close(),
        icon("close"),
      ),
    ),
    ...parts,
  );
  dialog.addEventListener("close", () => dialog.remove());
  // A text that is selected beyond the edge is no press beside the dialog.
  let isBeside = false;
  dialog.addEventListener("pointerdown", ({ target }) => {
    isBeside = target === dialog;
  });
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && isBeside) dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
  return dialog;
}
