import { type TileCoord, tileBox } from "../geo/tile.js";

/** Which images of a service show the area of a metatile. */

/** A raster service: XYZ or TMS by placeholders in its address, else WMS. */
export interface RasterService {
  readonly url: string;
  readonly minZoom: number | null;
  readonly maxZoom: number | null;
}

export interface WantedArea {
  /** The top left tile. */
  readonly origin: TileCoord;
  /** Tiles a side. */
  readonly count: number;
  readonly scale: 1 | 2 | 3;
}

/** Images of equal size in rows of `columns`, and the part of them that is the area. */
export interface WantedImages {
  /** Row by row from the top left. */
  readonly urls: readonly string[];
  readonly columns: number;
  /** Left edge, top edge and side of the area, in images. */
  readonly left: number;
  readonly top: number;
  readonly side: number;
  /** Whether the service may have none at a place: a WMS has one everywhere. */
  readonly mayBeMissing: boolean;
}

const hasPlaceholders = (url: string): boolean => url.includes("{z}");

/** @returns undefined when the service has nothing at this zoom */
export function imagesOf(service: RasterService, area: WantedArea): WantedImages | undefined {
  const { origin, count, scale } = area;
  if (service.minZoom !== null && origin.z < service.minZoom) return undefined;
  if (!hasPlaceholders(service.url)) {
    return { urls: [wmsUrl(service.url, area)], columns: 1, left: 0, top: 0, side: 1, mayBeMissing: false };
  }
  // Tiles of the next zoom have the pixels that dense screens show.
  const wanted = origin.z + (scale > 1 ? 1 : 0);
  const z = Math.min(wanted, service.maxZoom ?? 22);
  // Tiles of the service a tile of ours is wide.
  const factor = 2 ** (z - origin.z);
  const [left, top, side] = [origin.x * factor, origin.y * factor, count * factor];
  const [x0, y0] = [Math.floor(left), Math.floor(top)];
  const columns = Math.ceil(left + side) - x0;
  const urls = Array.from({ length: columns * columns }, (_, index) =>
    tileUrl(service.url, { z, x: x0 + (index % columns), y: y0 + Math.floor(index / columns) }),
  );
  return { urls, columns, left: left - x0, top: top - y0, side, mayBeMissing: true };
}

function tileUrl(template: string, { z, x, y }: TileCoord): string {
  const values: Readonly<Record<string, number>> = { z, x, y, "-y": 2 ** z - 1 - y };
  return template.replace(/\{(z|x|-?y)\}/g, (_, name: string) => String(values[name]));
}

/** OGC 06-042 (1.3.0) and 01-068r3 (1.1.1), 7.3: GetMap. The axes of EPSG:3857 are east, north in both. */
function wmsUrl(address: string, { origin, count, scale }: WantedArea): string {
  const url = new URL(address);
  const given = new Map([...url.searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  const version = given.get("version") || "1.3.0";
  const side = String(256 * scale * count);
  const parameters: Record<string, string> = {
    service: "WMS",
    request: "GetMap",
    version,
    layers: "",
    styles: "",
    format: "image/png",
    transparent: "TRUE",
    ...Object.fromEntries(given),
    [version < "1.3" ? "srs" : "crs"]: "EPSG:3857",
    bbox: tileBox(origin, count).join(","),
    width: side,
    height: side,
  };
  parameters.request = "GetMap";
  url.search = new URLSearchParams(parameters).toString();
  return url.href;
}
