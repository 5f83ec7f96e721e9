import { button, h } from "../dom.js";
import { showDialog } from "../tools/dialog.js";

/** Asks for a name. @returns undefined = the user does not want to, or has left it as it was */
export function askName(
  parts: Parameters<typeof showDialog>[0],
  { title, label, value }: { readonly title: string; readonly label: string; readonly value: string },
): Promise<string | undefined> {
  const { t } = parts.locale;
  const field = h("input", { class: "field", id: "asked-name", value, maxlength: 200, autocomplete: "off" });
  let name: string | undefined;
  const cancel = button({ class: "button" }, () => dialog.close(), t("cancel"));
  const form = h(
    "form",
    { class: "name-form" },
    h("label", { for: "asked-name" }, label),
    field,
    h(
      "div",
      { class: "dialog-actions" },
      cancel,
      h("button", { type: "submit", class: "button main" }, t("save")),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = field.value.trim();
    if (given !== value) name = given;
    dialog.close();
  });
  const dialog = showDialog(parts, title, form);
  field.focus();
  field.select();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(name)));
}
