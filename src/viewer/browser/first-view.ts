import type { View } from "./address.js";
import type { Box } from "./layer-tree.js";

/** Which part of the world a page shows at first. Does not depend on the DOM. */

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
