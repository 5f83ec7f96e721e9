import { h } from "./dom.js";
import type { Translate } from "./texts.js";

/** A slider for the opacity of a layer, in percent. */
export function opacitySlider(
  t: Translate,
  opacity: number,
  events: {
    /** undefined = it may be changed. */
    readonly refusal: string | undefined;
    /** @param isFinal false while it is dragged */
    changed(opacity: number, isFinal: boolean): void;
  },
): HTMLElement {
  const percent = (value: number) => `${Math.round(value * 100)} %`;
  const shown = h("output", {}, percent(opacity));
  const input = h("input", {
    type: "range",
    class: "slider",
    min: 0,
    max: 100,
    step: 5,
    value: Math.round(opacity * 100),
    id: "opacity",
    disabled: events.refusal !== undefined,
    "aria-valuetext": percent(opacity),
    "aria-describedby": events.refusal !== undefined && "opacity-refusal",
  });
  const change = (isFinal: boolean) => {
    const value = Number(input.value) / 100;
    shown.textContent = percent(value);
    input.setAttribute("aria-valuetext", percent(value));
    events.changed(value, isFinal);
  };
  input.addEventListener("input", () => change(false));
  input.addEventListener("change", () => change(true));
  return h(
    "div",
    { class: "opacity" },
    h("label", { for: "opacity" }, t("opacity"), shown),
    input,
    events.refusal !== undefined && h("p", { class: "hint", id: "opacity-refusal" }, events.refusal),
  );
}
