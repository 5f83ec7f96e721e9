import type { View } from "./address.js";
import { leastZoom } from "./first-view.js";
import { columnOf, rowOf } from "./mercator.js";
import { hasSlowLine, type TileSource, tileAddress } from "./tile-source.js";

/** The tiles of the first view, shown while the scripts of the page are still on their way. */

export interface FirstPicture {
  readonly element: HTMLElement;
  readonly view: View;
  readonly source: TileSource;
  /** When it was asked for, in milliseconds since the page was opened. */
  readonly since: number;
}

declare global {
  var firstPicture: FirstPicture | undefined;
}

const tileSize = 256;
/** Number of zooms before the map's own at which tiles are shown first on a slow line. */
const coarser = 2;

/** Shows the tiles as the map will show them: browsers ask once for a picture that a page has twice. */
export function showFirstPicture(source: TileSource, view: View): void {
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const z = Math.max(view.zoom, leastZoom(height));
  // Between two zooms the map scales its tiles.
  if (!Number.isInteger(z) || document.body === null) return;
  const side = tileSize * 2 ** z;
  const [x, y] = [columnOf(view.lon, side), rowOf(view.lat, side)];
  // The map shows nothing beyond the poles, if it can.
  const middle = side < height ? side / 2 : Math.max(height / 2, Math.min(side - height / 2, y));
  const page = { left: Math.floor(x) - width / 2, top: Math.floor(middle) - height / 2, width, height };
  const origin = { x: Math.round(x - width / 2), y: Math.round(middle - height / 2) };
  const element = document.createElement("div");
  element.setAttribute("aria-hidden", "true");
  Object.assign(element.style, {
    position: "absolute",
    inset: "0",
    overflow: "hidden",
    pointerEvents: "none",
  });
  const tilesAt = (zoom: number) => tilesOf({ source, page, origin }, zoom, tileSize * 2 ** (z - zoom));
  // Browsers ask in this order, and show the later ones over the earlier.
  if (hasSlowLine() && z >= coarser) {
    const coarse = document.createElement("div");
    // Names of four times their size say nothing.
    coarse.style.filter = "blur(8px)";
    coarse.append(...tilesAt(z - coarser));
    element.append(coarse);
  }
  element.append(...tilesAt(z));
  document.body.append(element);
  const since = globalThis.firstPicture?.since ?? performance.now();
  globalThis.firstPicture = { element, view: { ...view, zoom: z }, source, since };
}

interface Page {
  readonly source: TileSource;
  /** In pixels of the world. */
  readonly page: {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
  /** Where the left upper corner of the page is drawn. */
  readonly origin: { readonly x: number; readonly y: number };
}

/** The tiles of a zoom that the page shows, from its middle outwards. @param size in which they are shown, in pixels */
function tilesOf({ source, page, origin }: Page, zoom: number, size: number): HTMLImageElement[] {
  const last = 2 ** zoom - 1;
  const lastBefore = (pixel: number) => Math.ceil(pixel / size) - 1;
  const { left, top, width, height } = page;
  const places: { readonly x: number; readonly y: number; readonly away: number }[] = [];
  for (let y = Math.max(0, Math.floor(top / size)); y <= Math.min(last, lastBefore(top + height)); y++) {
    for (let x = Math.floor(left / size); x <= lastBefore(left + width); x++) {
      const away = Math.hypot((x + 0.5) * size - left - width / 2, (y + 0.5) * size - top - height / 2);
      places.push({ x, y, away });
    }
  }
  places.sort((a, b) => a.away - b.away);
  return places.map(({ x, y }) => {
    const tile = document.createElement("img");
    tile.alt = "";
    // Else the line is left to scripts that come to nothing without them.
    tile.fetchPriority = "high";
    Object.assign(tile.style, {
      position: "absolute",
      width: `${size}px`,
      height: `${size}px`,
      transform: `translate(${x * size - origin.x}px, ${y * size - origin.y}px)`,
    });
    tile.src = tileAddress(source, { x, y, z: zoom });
    return tile;
  });
}
