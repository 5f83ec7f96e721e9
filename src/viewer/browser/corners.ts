import type { Reader } from "./attributes.js";
import { button, h, type IconName, icon } from "./dom.js";

/** What sits in the corners of the map: zoom and its neighbours, the scale bar, the attribution. */

export interface ControlEvents {
  home(): void;
  locate(): void;
}

export function mapControls(map: L.Map, { t }: Reader, events: ControlEvents): HTMLElement {
  const control = (name: IconName, label: string, press: () => void, className = "") =>
    button({ class: `control ${className}`, "aria-label": label, title: label }, press, icon(name));
  const zoomIn = control("plus", t("zoomIn"), () => map.zoomIn());
  const zoomOut = control("minus", t("zoomOut"), () => map.zoomOut());
  const limit = () => {
    zoomIn.disabled = map.getZoom() >= map.getMaxZoom();
    zoomOut.disabled = map.getZoom() <= map.getMinZoom();
  };
  map.on("zoomend zoomlevelschange", limit);
  limit();
  const home = control("map", t("wholeMap"), () => events.home());
  const others: HTMLElement[] = [home];
  // Browsers tell the position over HTTPS (or on this machine) only.
  if (window.isSecureContext && "geolocation" in navigator) {
    others.push(control("locate", t("locate"), () => events.locate()));
  }
  if (document.fullscreenEnabled)
    others.push(fullScreenControl(control("fullScreen", t("fullScreen"), toggle), t));
  return h(
    "div",
    { class: "controls" },
    h("div", { class: "control-group" }, ...others),
    h("div", { class: "control-group" }, zoomIn, zoomOut),
  );
}

function toggle(): void {
  const done = document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen();
  done.catch(() => undefined); // the browser may refuse; nothing has changed then
}

function fullScreenControl(element: HTMLElement, t: Reader["t"]): HTMLElement {
  document.addEventListener("fullscreenchange", () => {
    const isFull = document.fullscreenElement !== null;
    const label = t(isFull ? "leaveFullScreen" : "fullScreen");
    element.replaceChildren(icon(isFull ? "leaveFullScreen" : "fullScreen"));
    element.title = label;
    element.setAttribute("aria-label", label);
  });
  return element;
}

const earthMetres = 40_075_016.686;
const widestPixels = 96;

/** The scale at the middle of the map, in the units of the language. */
export function scaleBar(map: L.Map, { language }: Reader): HTMLElement {
  const text = h("span", {});
  const line = h("span", { class: "scale-line", "aria-hidden": "true" });
  const element = h("div", { class: "scale" }, text, line);
  const format = (value: number, unit: string) =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(value);
  const update = () => {
    const perPixel =
      (earthMetres * Math.cos((map.getCenter().lat * Math.PI) / 180)) / (256 * 2 ** map.getZoom());
    const longest = perPixel * widestPixels;
    const power = 10 ** Math.floor(Math.log10(longest));
    const metres = power * ([5, 2].find((step) => step * power <= longest) ?? 1);
    line.style.width = `${Math.round(metres / perPixel)}px`;
    text.textContent = metres >= 1000 ? format(metres / 1000, "kilometer") : format(metres, "meter");
  };
  map.on("move zoomend resize", update);
  update();
  return element;
}
