import { colourOf } from "../../../../visual/class-colours.js";
import { h, s } from "../../dom.js";
import { bordersOf, numberOf, scaleOf, spread, step, type Visual, valueNear } from "./settings.js";

/** How the values of a column are spread, with the classes below in their colours. Borders between classes are dragged, or moved by arrow keys. */

export interface HistogramTexts {
  readonly label: string;
  border(at: number): string;
  /** A value, as it is shown. */
  value(number: number): string;
}

export interface HistogramEvents {
  /** While a border is moved. @param at from 1 */
  moved(at: number, value: number): void;
}

const parts = 48;
const [width, height] = [312, 72];
const largeStep = 10 * step;

export function histogram(
  settings: Visual,
  values: readonly unknown[],
  texts: HistogramTexts,
  events: HistogramEvents,
): HTMLElement {
  const borders = bordersOf(settings);
  const [least, most] = [borders[0]!, borders.at(-1)!];
  const numbers = values.map(numberOf).filter((value) => value >= least && value <= most);
  const scale = scaleOf(numbers, least, most);
  const counts = spread(numbers, scale, parts);
  const highest = Math.max(1, ...counts);
  // Of values that differ by magnitudes the few would not be seen.
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(2, Math.sqrt(count / highest) * height));
  const classOf = (value: number) =>
    Math.max(0, borders.findIndex((border, at) => at > 0 && value <= border) - 1);
  const valueAt = (place: number) => valueNear(scale, place);
  const colour = (at: number) => colourOf(settings.classesSettings ?? {}, borders, at);
  const bars = counts.map((count, at) => {
    const middle = scale.valueAt((at + 0.5) / parts);
    const tall = heightOf(count);
    const box = { x: (at / parts) * width, y: height - tall, width: width / parts - 1, height: tall };
    const attributes = Object.entries(box).map(([name, value]) => [name, value.toFixed(2)] as const);
    return s("rect", { ...Object.fromEntries(attributes), fill: colour(classOf(middle)) });
  });
  const picture = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "histogram-bars",
    "aria-hidden": "true",
  });
  picture.setAttribute("preserveAspectRatio", "none");
  picture.append(...bars);
  const limits = h(
    "div",
    { class: "histogram-scale", "aria-hidden": "true" },
    h("span", {}, texts.value(least)),
    h("span", {}, texts.value(most)),
  );
  const handles = borders.slice(1, -1).map((border, index) => {
    const at = index + 1;
    const handle = h("span", {
      ...{ class: "histogram-border", role: "slider", tabindex: 0, id: `visual-border-${at}` },
      ...{
        "aria-label": texts.border(at),
        "aria-valuemin": borders[at - 1]!,
        "aria-valuemax": borders[at + 1]!,
      },
      ...{ "aria-valuenow": border, "aria-valuetext": texts.value(border) },
    });
    handle.append(h("span", { class: "histogram-value", "aria-hidden": "true" }, texts.value(border)));
    // It stays within the form.
    handle.classList.toggle("late", scale.placeOf(border) > 0.5);
    handle.style.insetInlineStart = `${scale.placeOf(border) * 100}%`;
    const move = (value: number) => events.moved(at, value);
    handle.addEventListener("keydown", (event) => {
      const by = {
        ArrowLeft: -step,
        ArrowDown: -step,
        ArrowRight: step,
        ArrowUp: step,
        PageDown: -largeStep,
        PageUp: largeStep,
      };
      const part = by[event.key as keyof typeof by];
      if (part === undefined) return;
      event.preventDefault();
      move(valueAt(scale.placeOf(border) + part));
    });
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus({ preventScroll: true });
      const { left, width: wide } = element.querySelector(".histogram-bars")!.getBoundingClientRect();
      // What is dragged is drawn anew meanwhile: the page hears of the pointer.
      const drag = (each: PointerEvent) => move(valueAt((each.clientX - left) / wide));
      const end = () => {
        window.removeEventListener("pointermove", drag);
        window.removeEventListener("pointerup", end);
        window.removeEventListener("pointercancel", end);
      };
      window.addEventListener("pointermove", drag);
      window.addEventListener("pointerup", end);
      window.addEventListener("pointercancel", end);
    });
    return handle;
  });
  const element = h(
    "div",
    { class: "histogram", role: "group", "aria-label": texts.label },
    h("div", { class: "histogram-field" }, picture, ...handles),
    limits,
  );
  return element;
}
