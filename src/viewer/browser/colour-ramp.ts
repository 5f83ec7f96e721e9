import { h } from "./dom.js";
import type { Legend } from "./map-server.js";

/** The legend of colours that stand for no values: one bar from few objects to many, that begins as heat maps end, in nothing (viewer.css). */

/** Undefined: the classes have values. */
export function colourRamp({ classificators }: Legend, texts: readonly string[]): HTMLElement | undefined {
  if (
    classificators.length < 2 ||
    classificators.some(({ value, size }) => value !== null || size !== undefined)
  )
    return undefined;
  const bar = h("span", { class: "legend-ramp", "aria-hidden": "true" });
  const colours = classificators.map(({ fill }) => fill);
  bar.style.backgroundImage = `linear-gradient(to right, ${colours.join(", ")})`;
  const [least, most] = [texts[0], texts.at(-1)].map((text) =>
    h("span", { class: "legend-text" }, text ?? ""),
  );
  return h("li", { class: "legend-class" }, least!, bar, most!);
}
