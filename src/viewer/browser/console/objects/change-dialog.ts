import { columnTitle, type Locale } from "../../attributes.js";
import { button, h } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import { showDialog } from "../../tools/dialog.js";
import { ownColumns } from "../../value-columns.js";
import { type FieldContext, fieldControl } from "./field-controls.js";

/** Asks which value several objects shall have in one of their columns. */

export interface SameValue {
  readonly column: ColumnInfo;
  readonly value: unknown;
}

/** Columns of files have values of their own; those of several languages are written one by one. */
export const changeableColumns = (columns: readonly ColumnInfo[]): readonly ColumnInfo[] =>
  ownColumns(columns).filter(
    ({ type, localized_value: isLocalized }) => type !== "title" && type !== "file" && !isLocalized,
  );

/** @param n how many objects @returns undefined = nothing shall be changed */
export function askValue(
  parts: { readonly root: HTMLElement; readonly locale: Locale },
  columns: readonly ColumnInfo[],
  context: Omit<FieldContext, "t">,
  n: number,
): Promise<SameValue | undefined> {
  const { t } = parts.locale;
  let chosen: SameValue | undefined;
  let value: unknown = null;
  const select = h(
    "select",
    { class: "field", id: "change-column" },
    ...columns.map((column, at) => h("option", { value: at }, columnTitle(column))),
  );
  const place = h("div", { class: "change-value" });
  const form = h("form", { class: "change-form" });
  const change = h("button", { type: "submit", class: "button main" }, t("changeObjects", { n }));
  const show = () => {
    value = null;
    const column = columns[Number(select.value)]!;
    // Its id is that of a field of the form, which may show the same column.
    const control = fieldControl({ ...column, code: `change-${column.code}` }, withCode(column), (given) => {
      value = given;
      change.disabled = given === undefined;
    });
    change.disabled = false;
    place.replaceChildren(control.element);
  };
  /** The constraints of a column, for a field of another name. */
  const withCode = ({ code }: ColumnInfo): FieldContext => ({
    ...context,
    t,
    constraints: context.constraints.map((one) => ({
      ...one,
      columns: one.columns.map((each) => (each === code ? `change-${code}` : each)),
    })),
  });
  select.addEventListener("change", show);
  form.append(
    h("p", {}, t("changeText", { n })),
    h("label", { for: "change-column" }, t("column")),
    select,
    place,
    h(
      "div",
      { class: "dialog-actions" },
      button({ class: "button" }, () => dialog.close(), t("cancel")),
      change,
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (value === undefined) return;
    chosen = { column: columns[Number(select.value)]!, value };
    dialog.close();
  });
  show();
  const dialog = showDialog(parts, t("changeTitle", { n }), form);
  select.focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(chosen)));
}
