import type { Locale } from "../../attributes.js";
import { button, h } from "../../dom.js";
import { showDialog } from "../../tools/dialog.js";

/**
 * Asks which of several objects stays, with its values, when they become one.
 * @param titles of the objects, in their order @returns its id; undefined = they shall not be merged
 */
export function askKept(
  parts: { readonly root: HTMLElement; readonly locale: Locale },
  ids: readonly number[],
  titles: readonly string[],
): Promise<number | undefined> {
  const { t } = parts.locale;
  const n = ids.length;
  let kept: number | undefined;
  const option = (id: number, at: number) => {
    const title = titles[at] ?? "";
    const number = t("objectNumber", { id });
    return h("option", { value: id }, title === number ? title : `${title} · ${id}`);
  };
  const select = h("select", { class: "field", id: "merge-kept" }, ...ids.map(option));
  const form = h(
    "form",
    { class: "change-form" },
    h("p", {}, t("mergeText")),
    h("label", { for: "merge-kept" }, t("mergeKept")),
    select,
    h(
      "div",
      { class: "dialog-actions" },
      button({ class: "button" }, () => dialog.close(), t("cancel")),
      h("button", { type: "submit", class: "button main" }, t("mergeMarked", { n })),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    kept = Number(select.value);
    dialog.close();
  });
  const dialog = showDialog(parts, t("mergeTitle", { n }), form);
  select.focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(kept)));
}
