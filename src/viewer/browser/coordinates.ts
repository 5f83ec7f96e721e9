import { h } from "./dom.js";
import type { Translate } from "./texts.js";

/** Latitude and longitude as text, with the decimals that count at a zoom. */
export function coordinatesText(latlng: L.LatLng, zoom: number): string {
  const { lat, lng } = latlng.wrap();
  const decimals = Math.min(6, Math.max(2, Math.ceil(zoom / 3)));
  return `${lat.toFixed(decimals)}, ${lng.toFixed(decimals)}`;
}

/** The place under the pointer, for the line at the bottom; nothing where fingers point. */
export function pointerCoordinates(map: L.Map, t: Translate): HTMLElement {
  const element = h("span", { class: "pointer-place", title: t("pointerPlace"), hidden: true });
  const pointer = window.matchMedia("(hover: hover) and (pointer: fine)");
  map.on("mousemove", (event: L.LeafletMouseEvent) => {
    if (!pointer.matches) return;
    element.textContent = coordinatesText(event.latlng, map.getZoom());
    element.hidden = false;
  });
  map.on("mouseout", () => {
    element.hidden = true;
  });
  return element;
}
