import gdal from "gdal-async";
import { toMercator } from "../../../src/geo/envelope.js";
import { type MercatorBox, mercatorHalf } from "../../../src/geo/tile.js";
import { refused } from "../refusal.js";
import { newReference } from "../srs-objects.js";
import { type Georeference, placeOf } from "./georeference.js";
import type { RasterSource } from "./source.js";

/** The pixels of the processed image: those of a zoom level of the tiles. */

export interface Grid {
  readonly width: number;
  readonly height: number;
  /** Metres a pixel in EPSG:3857. */
  readonly resolution: number;
  /** x of the left edge and y of the top edge in EPSG:3857; x beyond the antimeridian goes on. */
  readonly left: number;
  readonly top: number;
  /** The longitude in the image's middle. */
  readonly centre: number;
  /** West, south, east, north of the image in degrees of EPSG:4326. */
  readonly box: readonly [number, number, number, number];
  /** Whether parts of the image lie beyond the latitudes that maps show. */
  readonly isCut: boolean;
  /** Of the overviews, each half as large as the one before. */
  readonly factors: readonly number[];
}

/** The latitude of the edge of EPSG:3857. */
const maxMercatorLatitude = 85.05112877980659;
/** Places of the image that are transformed, along each side. */
const samples = 33;
const resolutionOfZoom0 = (2 * mercatorHalf) / 256;
/** The finest pixels that tiles show: zoom 22 at three times the resolution. */
const maxZoom = 24;
/** A zoom level may be coarser than the image by this part of a level, before the next finer one is taken. */
const tolerance = 0.25;
/** The processed image may have this many times the pixels, and some more. */
const maxGrowth = 8;
const smallPixels = 1_000_000;
/** The larger side of the last overview has at least as many pixels. */
const leastOverview = 32;

interface Place {
  readonly lon: number;
  readonly lat: number;
}

/** @throws Refusal import_failed when the image cannot be placed on a map */
export function gridOf(source: RasterSource, reference: Georeference): Grid {
  const places = samplePlaces(source, reference);
  const known = places.flat().filter((place) => place !== undefined);
  if (known.length < 4) throw refused("The image lies outside the area of its spatial reference.");
  const west = Math.min(...known.map(({ lon }) => lon));
  const east = Math.max(...known.map(({ lon }) => lon));
  const south = Math.min(...known.map(({ lat }) => lat));
  const north = Math.max(...known.map(({ lat }) => lat));
  const clamp = (lat: number) => Math.min(maxMercatorLatitude, Math.max(-maxMercatorLatitude, lat));
  const [x0, y0] = toMercator(west, clamp(south));
  const [x1, y1] = toMercator(east, clamp(north));
  if (!(x1 > x0 && y1 > y0)) throw refused("The image has no area on the map.");
  let zoom = zoomOf(finestPixel(source, places));
  const pixels = () => ((x1 - x0) / metres()) * ((y1 - y0) / metres());
  const metres = () => resolutionOfZoom0 / 2 ** zoom;
  const most = maxGrowth * source.width * source.height + smallPixels;
  while (zoom > 0 && pixels() > most) zoom--;
  const resolution = metres();
  const factors: number[] = [];
  const side = Math.max(x1 - x0, y1 - y0) / resolution;
  for (let factor = 2; side / factor >= leastOverview; factor *= 2) factors.push(factor);
  // The pixels of all overviews are pixels of tiles too, so that adjacent tiles fit together at every zoom.
  const step = factors.at(-1) ?? 1;
  const before = (pixels: number) => Math.floor((pixels + 1e-6) / step) * step;
  const after = (pixels: number) => Math.ceil((pixels - 1e-6) / step) * step;
  const left = before((x0 + mercatorHalf) / resolution);
  const right = after((x1 + mercatorHalf) / resolution);
  const top = before((mercatorHalf - y1) / resolution);
  const bottom = after((mercatorHalf - y0) / resolution);
  return {
    width: Math.max(1, right - left),
    height: Math.max(1, bottom - top),
    resolution,
    left: left * resolution - mercatorHalf,
    top: mercatorHalf - top * resolution,
    centre: (west + east) / 2,
    box: [west, south, east, north],
    factors,
    isCut: south < -maxMercatorLatitude - 1e-6 || north > maxMercatorLatitude + 1e-6,
  };
}

export const extentOf = ({ left, top, width, height, resolution }: Grid): MercatorBox => [
  left,
  top - height * resolution,
  left + width * resolution,
  top,
];

/** Longitudes and latitudes of places in the image, row by row; undefined outside the area of its reference. */
function samplePlaces({ width, height }: RasterSource, { transform, srs }: Georeference) {
  const degrees = newReference(() => gdal.SpatialReference.fromProj4("+proj=longlat +datum=WGS84 +no_defs"));
  const transformation = new gdal.CoordinateTransformation(srs, degrees);
  const place = (column: number, row: number, near: number | undefined): Place | undefined => {
    const [x, y] = placeOf(transform, column, row);
    try {
      const found = transformation.transformPoint(x, y);
      if (!Number.isFinite(found.x) || !Number.isFinite(found.y) || Math.abs(found.y) > 90.5)
        return undefined;
      const lon = nextTo(found.x, srs.isGeographic() ? x : near);
      return { lon, lat: Math.min(90, Math.max(-90, found.y)) };
    } catch {
      return undefined;
    }
  };
  const centre = place(width / 2, height / 2, undefined)?.lon;
  const steps = Array.from({ length: samples }, (_, i) => i / (samples - 1));
  return steps.map((row) => steps.map((column) => place(column * width, row * height, centre)));
}

/** The longitude that means the same and is nearest to another one. */
function nextTo(lon: number, other: number | undefined): number {
  if (other === undefined || Math.abs(lon - other) <= 180 + 1e-6) return lon;
  return lon - 360 * Math.round((lon - other) / 360);
}

/** Metres in EPSG:3857 of the side of a pixel, where they are least. */
function finestPixel(
  { width, height }: RasterSource,
  places: readonly (readonly (Place | undefined)[])[],
): number {
  const cellPixels = (width / (samples - 1)) * (height / (samples - 1));
  let least = Number.POSITIVE_INFINITY;
  for (let row = 0; row + 1 < samples; row++) {
    for (let column = 0; column + 1 < samples; column++) {
      const corner = mercatorOf(places[row]![column]);
      const right = mercatorOf(places[row]![column + 1]);
      const below = mercatorOf(places[row + 1]![column]);
      if (!corner || !right || !below) continue;
      const area = Math.abs(
        (right[0] - corner[0]) * (below[1] - corner[1]) - (right[1] - corner[1]) * (below[0] - corner[0]),
      );
      if (area > 0) least = Math.min(least, Math.sqrt(area / cellPixels));
    }
  }
  if (least === Number.POSITIVE_INFINITY)
    throw refused("The image lies beyond the latitudes that maps show.");
  return least;
}

const mercatorOf = (place: Place | undefined): [number, number] | undefined =>
  place && Math.abs(place.lat) <= maxMercatorLatitude + 1e-6 ? toMercator(place.lon, place.lat) : undefined;

const zoomOf = (metres: number): number =>
  Math.min(maxZoom, Math.max(0, Math.ceil(Math.log2(resolutionOfZoom0 / metres) - tolerance)));
