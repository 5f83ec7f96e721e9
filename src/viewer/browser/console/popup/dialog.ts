import type { AttachmentSource } from "../../attachments.js";
import { columnTitle, type Locale } from "../../attributes.js";
import { button, h } from "../../dom.js";
import type { ColumnInfo, ObjectItem } from "../../map-server.js";
import { showDialog } from "../../tools/dialog.js";
import { problemText } from "../problem.js";
import { ColumnList } from "./column-list.js";
import { previewOf } from "./preview.js";
import { columnsOf, isSamePopup, type Popup, shownBy, titleColumns } from "./settings.js";

/** What readers see when they press an object of a layer: its title, and which columns in which order. */

export interface PopupDialogParts {
  readonly root: HTMLElement;
  readonly locale: Locale;
}
export interface PopupOfLayer {
  /** What the layer is called. */
  readonly name: string;
  readonly columns: readonly ColumnInfo[];
  /** The one that is shown as an example; undefined = the layer has none. */
  readonly object: ObjectItem | undefined;
  readonly files: AttachmentSource;
  readonly dataLanguage: string;
  readonly popup: Popup;
}

/** @param save throws ServerError */
export function showPopupDialog(
  parts: PopupDialogParts,
  of: PopupOfLayer,
  save: (popup: Popup) => Promise<void>,
): HTMLDialogElement {
  const { locale } = parts;
  const { t } = locale;
  const { columns } = of;
  const title = h(
    "select",
    { class: "field", id: "popup-title" },
    h("option", { value: "" }, t("popupAnyTitle")),
    ...titleColumns(columns).map((column) => h("option", { value: column.code }, columnTitle(column))),
  );
  const object = of.object ?? { id: 1, fields: Object.fromEntries(columns.map(({ code }) => [code, null])) };
  const shown = { ...of, layerTitle: of.name, object };
  const preview = h("div", { class: "popup-preview-body" });
  const wanted = (): Popup => ({ title: title.value || undefined, columns: shownBy(list.columns, columns) });
  const changed = () => {
    const popup = wanted();
    preview.replaceChildren(...previewOf(shown, popup, locale));
    reset.hidden = popup.columns === undefined;
  };
  const list = new ColumnList(t, changed);
  const all = { title: undefined, columns: undefined };
  const reset = button(
    { class: "text-button popup-reset" },
    () => {
      list.show(columnsOf(all, columns));
      changed();
      list.list.querySelector("input")?.focus();
    },
    t("popupReset"),
  );
  const problem = h("p", { class: "problem", role: "alert" });
  const cancel = button({ class: "button" }, () => dialog.close(), t("cancel"));
  const submit = h("button", { type: "submit", class: "button main" }, t("save"));
  const hasFiles = columns.some(({ type }) => type === "file");
  const form = h(
    "form",
    { class: "popup-form" },
    h(
      "div",
      { class: "popup-parts" },
      h(
        "div",
        {},
        h("h3", {}, h("label", { for: title.id }, t("popupTitle"))),
        title,
        h("h3", {}, t("popupColumns")),
        list.list,
        hasFiles && h("p", { class: "hint" }, t("popupPictures")),
        reset,
      ),
      h(
        "section",
        { class: "popup-preview", "aria-labelledby": "popup-preview" },
        h("h3", { id: "popup-preview" }, t("popupPreview")),
        preview,
        !of.object && h("p", { class: "hint" }, t("popupEmpty")),
      ),
    ),
    list.status,
    problem,
    h("div", { class: "dialog-actions" }, cancel, submit),
  );
  /** What the layer has, as far as is known. */
  let saved: Popup | undefined = of.popup;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    const popup = wanted();
    if (saved && isSamePopup(popup, saved)) {
      dialog.close();
      return;
    }
    problem.textContent = "";
    submit.disabled = true;
    try {
      await save(popup);
      dialog.close();
    } catch (error) {
      saved = undefined;
      problem.textContent = problemText(error, t);
      submit.disabled = false;
      submit.focus();
    }
  });
  // A column that was deleted has no entry.
  title.value = of.popup.title ?? "";
  if (title.selectedIndex === -1) title.value = "";
  title.addEventListener("change", changed);
  list.show(columnsOf(of.popup, columns));
  changed();
  const dialog = showDialog(
    parts,
    t("popupOf", { name: of.name }),
    h("p", { class: "hint" }, t("popupHint")),
    form,
  );
  dialog.classList.add("popup-dialog");
  /** Whoever has changed something says what is to become of it: by one key or beside the dialog it would be gone. */
  const stay = (event: Event) => {
    const isChanged = !saved || !isSamePopup(wanted(), saved);
    if (!isChanged || (event.type === "click" && event.target !== dialog)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    problem.textContent = t("popupUnsaved");
  };
  dialog.addEventListener("cancel", stay);
  dialog.addEventListener("click", stay, { capture: true });
  title.focus();
  return dialog;
}
