import type { Locale } from "./attributes.js";
import { button, h, type IconName, icon } from "./dom.js";

/** Controls of the map: zoom, whole map, location, full screen, print; and the scale bar. */

export interface ControlEvents {
  home(): void;
  measure(): void;
  bookmarks(): void;
  /** @param control the button that was pressed */
  locate(control: HTMLElement): void;
  print(): void;
}

/** @param isEmbedded in a page of others there is room for the most used ones only */
export function mapControls(
  map: L.Map,
  { t }: Locale,
  isEmbedded: boolean,
  events: ControlEvents,
): HTMLElement {
  const control = (name: IconName, label: string, press: () => void, className = "") =>
    button({ class: `control ${className}`, "aria-label": label, title: label }, press, icon(name));
  const zoomIn = control("plus", t("zoomIn"), () => map.zoomIn());
  const zoomOut = control("minus", t("zoomOut"), () => map.zoomOut());
  const updateZoomButtons = () => {
    zoomIn.disabled = map.getZoom() >= map.getMaxZoom();
    zoomOut.disabled = map.getZoom() <= map.getMinZoom();
  };
  map.on("zoomend zoomlevelschange", updateZoomButtons);
  updateZoomButtons();
  const home = control("map", t("wholeMap"), () => events.home());
  const others: HTMLElement[] = [home];
  // Geolocation requires HTTPS (or localhost).
  if (!isEmbedded && window.isSecureContext && "geolocation" in navigator) {
    const locate: HTMLElement = control("locate", t("locate"), () => events.locate(locate), "locate");
    others.push(locate);
  }
  if (document.fullscreenEnabled)
    others.push(fullScreenControl(control("fullScreen", t("fullScreen"), toggleFullScreen), t));
  if (!isEmbedded) others.push(control("print", t("print"), () => events.print()));
  return h(
    "div",
    { class: "controls" },
    !isEmbedded &&
      h(
        "div",
        { class: "control-group tools" },
        control("ruler", t("measure"), () => events.measure()),
        control("bookmark", t("bookmarks"), () => events.bookmarks()),
      ),
    h("div", { class: "control-group" }, ...others),
    h("div", { class: "control-group" }, zoomIn, zoomOut),
  );
}

function toggleFullScreen(): void {
  const done = document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen();
  done.catch(() => undefined); // the browser may refuse
}

function fullScreenControl(element: HTMLElement, t: Locale["t"]): HTMLElement {
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
const maxWidthPixels = 96;
/** Metres of a unit, from the larger one. */
const metric = [
  [1_000, "kilometer"],
  [1, "meter"],
] as const;
const imperial = [
  [1_609.344, "mile"],
  [0.3048, "foot"],
] as const;

/** A scale bar for the centre of the map, with units in the page's language. */
export function scaleBar(map: L.Map, { language, units }: Locale): HTMLElement {
  const text = h("span", {});
  const line = h("span", { class: "scale-line", "aria-hidden": "true" });
  const element = h("div", { class: "scale" }, text, line);
  const format = (value: number, unit: string) =>
    new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(value);
  const update = () => {
    const perPixel =
      (earthMetres * Math.cos((map.getCenter().lat * Math.PI) / 180)) / (256 * 2 ** map.getZoom());
    const maxMetres = perPixel * maxWidthPixels;
    const [large, small] = units.isImperial ? imperial : metric;
    const [unitMetres, unit] = maxMetres >= large[0] ? large : small;
    const most = maxMetres / unitMetres;
    const power = 10 ** Math.floor(Math.log10(most));
    const value = power * ([5, 2].find((step) => step * power <= most) ?? 1);
    line.style.width = `${Math.round((value * unitMetres) / perPixel)}px`;
    text.textContent = format(value, unit);
  };
  units.whenChosen(update);
  map.on("move zoomend resize", update);
  update();
  return element;
}
