import { h } from "./dom.js";
import type { Translate } from "./texts.js";

/** How wide the panel at the side is: the user draws its border, or moves it by keyboard; the browser remembers it. */

const storageKey = "mapwright.sideWidth";
const leastPixels = 240;
const stepPixels = 16;
/** Room that is left for the map. */
const mostPixels = (): number => Math.max(leastPixels, Math.min(720, Math.floor(window.innerWidth * 0.6)));

/** The border of a panel that can be moved, beside the panel. */
export function withMovableBorder(panel: HTMLElement, t: Translate): HTMLElement {
  const border = h("div", {
    class: "side-handle",
    role: "separator",
    "aria-orientation": "vertical",
    "aria-label": t("panelWidth"),
    title: t("panelWidth"),
    tabindex: 0,
  });
  /** Undefined = that of the style sheet. */
  let wanted = remembered();
  const show = () => {
    const { style } = document.documentElement;
    if (wanted === undefined) style.removeProperty("--side-width");
    else style.setProperty("--side-width", `${limited(wanted)}px`);
    border.setAttribute("aria-valuemin", String(leastPixels));
    border.setAttribute("aria-valuemax", String(mostPixels()));
    if (panel.offsetWidth > 0) border.setAttribute("aria-valuenow", String(panel.offsetWidth));
  };
  const choose = (width: number | undefined) => {
    wanted = width === undefined ? undefined : limited(Math.round(width));
    show();
    remember(wanted);
  };
  let grabbed: { readonly x: number; readonly width: number } | undefined;
  border.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grabbed = { x: event.clientX, width: panel.offsetWidth };
    border.setPointerCapture(event.pointerId);
  });
  border.addEventListener("pointermove", (event) => {
    if (!grabbed || event.clientX === grabbed.x) return;
    wanted = limited(grabbed.width + event.clientX - grabbed.x);
    show();
  });
  const release = () => {
    if (grabbed) remember(wanted);
    grabbed = undefined;
  };
  border.addEventListener("pointerup", release);
  border.addEventListener("pointercancel", release);
  border.addEventListener("dblclick", () => choose(undefined));
  border.addEventListener("keydown", (event) => {
    const widths: Readonly<Record<string, number>> = {
      ArrowLeft: panel.offsetWidth - stepPixels,
      ArrowRight: panel.offsetWidth + stepPixels,
      Home: leastPixels,
      End: mostPixels(),
    };
    const width = widths[event.key];
    if (width === undefined) return;
    event.preventDefault();
    choose(width);
  });
  window.addEventListener("resize", show);
  new ResizeObserver(show).observe(panel);
  show();
  return h("aside", { class: "side-part" }, panel, border);
}

const limited = (width: number): number => Math.max(leastPixels, Math.min(mostPixels(), width));

function remembered(): number | undefined {
  try {
    const width = Number(localStorage.getItem(storageKey));
    return width >= leastPixels && width <= 10_000 ? width : undefined;
  } catch {
    // Storage is disabled.
    return undefined;
  }
}

function remember(width: number | undefined): void {
  try {
    if (width === undefined) localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, String(width));
  } catch {
    // Without storage it is forgotten with the page.
  }
}
