import { h } from "../../dom.js";

/** Controls of a form, each in a row with its label. */

export const row = (label: string, id: string, ...controls: readonly HTMLElement[]): HTMLElement =>
  h("div", { class: "style-row" }, h("label", { for: id }, label), ...controls);

export interface Option {
  readonly value: string;
  readonly text: string;
  readonly disabled?: boolean;
}

export function choice(
  id: string,
  options: readonly Option[],
  value: string,
  chosen: (value: string) => void,
): HTMLSelectElement {
  const select = h(
    "select",
    { class: "field", id },
    ...options.map(({ value: one, text, disabled }) => h("option", { value: one, disabled }, text)),
  );
  select.value = value;
  select.addEventListener("change", () => chosen(select.value));
  return select;
}

export function colour(id: string, value: string, changed: (colour: string) => void): HTMLInputElement {
  const input = h("input", { type: "color", id, class: "style-colour", value });
  input.addEventListener("change", () => changed(input.value));
  return input;
}

export interface Slider {
  readonly id: string;
  readonly label: string;
  readonly from: number;
  /** 1 = the value is a part, and told in per cent. */
  readonly to: number;
  readonly step: number;
  readonly value: number;
}

export function slider(of: Slider, changed: (value: number) => void): HTMLElement {
  const { id, label, from, to, step, value } = of;
  const shown = h("output", { for: id });
  const input = h("input", {
    ...{ type: "range", class: "slider", id },
    ...{ min: from, max: Math.max(to, value), step, value },
  });
  const tell = () => {
    shown.textContent = to === 1 ? `${Math.round(100 * Number(input.value))} %` : input.value;
  };
  tell();
  input.addEventListener("input", tell);
  input.addEventListener("change", () => changed(Number(input.value)));
  return row(label, id, input, shown);
}
