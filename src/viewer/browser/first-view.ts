import type { View } from "./address.js";
import type { Box } from "./layer-tree.js";

/** Which part of the world a page shows at first. Does not depend on the DOM. */

/** What of a map is seen at first: west, south, east, north in degrees. */
export type StartView = readonly [west: number, south: number, east: number, north: number];

export const boxOfView = ([west, south, east, north]: StartView): Box => ({
  sw: [south, west],
  ne: [north, east],
});

/** What a page shows, as it can be saved: once around the world at most, with decimals for some centimetres. */
export function startViewOf({ sw, ne }: Box): StartView {
  const round = (degrees: number) => Number(degrees.toFixed(7));
  const latitude = (degrees: number) => round(Math.max(-90, Math.min(90, degrees)));
  const [south, north] = [latitude(sw[0]), latitude(ne[0])];
  const width = ne[1] - sw[1];
  // All around the world is the same from anywhere.
  if (width > 359) return [-180, south, 180, north];
  const west = round(sw[1] - 360 * Math.floor((sw[1] + 180) / 360));
  return [west, south, round(west + width), north];
}

/** A page as narrow as a phone's. */
export const phonePages = "(max-width: 640px)";

/** Whether a box is so wide that the world is shown for it. */
export const isWorld = (box: Box | undefined): boolean => !box || box.ne[1] - box.sw[1] > 300;

/** A view of the world that fills the page, centred a little to the north, where most land is. @param width in pixels */
export function worldView(width: number, height: number, isPhone: boolean): View {
  const zoom = Math.max(1, Math.round(Math.log2(Math.max(width / 1.35, height) / 256)));
  return { zoom, lat: isPhone ? 30 : 22, lon: isPhone ? 15 : 5 };
}

/** The zoom at which the world fills the height of the page. @param height in pixels */
export const leastZoom = (height: number): number => Math.max(0, Math.floor(Math.log2(height / 256)));
