import { copyText } from "./clipboard.js";
import { button, h, icon } from "./dom.js";
import type { Translate } from "./texts.js";
import type { Toasts } from "./toasts.js";

/** Copies the link to the clipboard; if the browser refuses, shows it in a dialog. */
export async function shareLink(link: string, t: Translate, toasts: Toasts): Promise<void> {
  if (await copyText(link)) {
    toasts.show(t("linkCopied"), "good");
    return;
  }
  const field = h("input", { class: "field", readonly: true, value: link, "aria-labelledby": "share-title" });
  const dialog = h(
    "dialog",
    { class: "card dialog", "aria-labelledby": "share-title" },
    h(
      "div",
      { class: "sign-in" },
      h(
        "header",
        {},
        h("h2", { id: "share-title" }, t("copyLink")),
        button({ class: "icon-button", "aria-label": t("close") }, () => dialog.close(), icon("close")),
      ),
      field,
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}
