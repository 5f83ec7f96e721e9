import { h } from "../dom.js";
import type { TextKey, Translate } from "../texts.js";
import type { MapBase } from "./map-edits.js";

/** The part of the dialog that says what is drawn below a map. */

export interface BasePart {
  readonly elements: readonly HTMLElement[];
  /** @param mayChange whether it can be changed just now */
  show(base: MapBase | null, mayChange: boolean): void;
}

const names: Readonly<Record<MapBase, TextKey>> = {
  builtin: "baseLight",
  "builtin-muted": "baseMuted",
  "builtin-dark": "baseDark",
  none: "baseNone",
};

/** @param isCovered whether it would not be seen */
export function basePart(t: Translate, isCovered: boolean, choose: (base: MapBase | null) => void): BasePart {
  const field = h(
    "select",
    { class: "field", id: "publish-base" },
    h("option", { value: "" }, t("baseOfProject")),
    ...Object.entries(names).map(([value, text]) => h("option", { value }, t(text))),
  );
  field.addEventListener("change", () => choose((field.value || null) as MapBase | null));
  return {
    elements: [
      h("h3", {}, h("label", { for: field.id }, t("baseMap"))),
      field,
      ...(isCovered ? [h("p", { class: "hint" }, t("baseCovered"))] : []),
    ],
    show: (base, mayChange) => {
      field.value = base ?? "";
      field.disabled = !mayChange;
    },
  };
}
