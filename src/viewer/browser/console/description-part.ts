import { h } from "../dom.js";
import type { Translate } from "../texts.js";

/** As the server takes it. */
const longest = 2_000;

export interface DescriptionPart {
  readonly elements: readonly HTMLElement[];
  /** @param saved the description that the map has: what is written here stays */
  show(saved: string, now: { readonly mayChange: boolean; readonly isBusy: boolean }): void;
}

/** The part of the dialog in which it is written what the map is about. */
export function descriptionPart(
  t: Translate,
  description: string,
  save: (text: string) => void,
): DescriptionPart {
  const field = h("textarea", { class: "field", id: "publish-description", rows: 3, maxlength: longest });
  field.value = description;
  const submit = h("button", { type: "submit", class: "button" }, t("save"));
  const form = h("form", { class: "publish-description" }, field, submit);
  let saved = description;
  let isBusy = false;
  const compare = () => {
    submit.hidden = field.value.trim() === saved.trim();
  };
  field.addEventListener("input", compare);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isBusy) save(field.value.trim());
  });
  return {
    elements: [h("h3", {}, h("label", { for: field.id }, t("mapDescription"))), form],
    show: (text, now) => {
      saved = text;
      isBusy = now.isBusy;
      field.disabled = !now.mayChange;
      submit.disabled = isBusy;
      compare();
    },
  };
}
