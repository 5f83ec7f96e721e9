import { readFileSync } from "node:fs";
import { join } from "node:path";
import type gdal from "gdal-async";
import { readProjectionFile } from "../projection-file.js";
import { Refusal, refused } from "../refusal.js";
import { epsgNumber, referenceFrom, textOf } from "../srs.js";
import { readReference } from "../srs-objects.js";
import type { RasterSource } from "./source.js";

/** Where an image lies: by the request, by its world file, or by itself. */

/** GDAL's six numbers: column and row of a pixel's corner to x (east) and y (north). */
export type GeoTransform = readonly [number, number, number, number, number, number];

export interface Georeference {
  readonly transform: GeoTransform;
  readonly srs: gdal.SpatialReference;
  /** Its EPSG number, or WKT or proj4. */
  readonly srsText: string;
  /** Whether the image file alone tells it. */
  readonly isOwn: boolean;
}

export interface GivenGeoreference {
  /** Folder of the import and the names of its files. */
  readonly folder: string;
  readonly files: readonly string[];
  /** Name of the image. */
  readonly name: string;
  /** Spatial reference of the request. */
  readonly srs: string | undefined;
  /** xmin, ymin, xmax, ymax of the request. */
  readonly box: readonly number[] | undefined;
}

/** Extensions of world files. */
const worldExtension = /\.(?:[a-z]{1,4}w|wld)$/;

/** @throws Refusal no_georeference, import_failed */
export function georeference(source: RasterSource, given: GivenGeoreference): Georeference {
  const transform = boxTransform(source, given.box) ?? worldTransform(given);
  const own = ownTransform(source);
  const used = transform ?? own;
  if (!used) {
    throw new Refusal(
      "no_georeference",
      "The image does not say where it lies: send a GeoTIFF, a world file with it, or its box (raster_bbox; of the command --raster-bbox).",
    );
  }
  const srsText = srsTextOf(source, given);
  const reference = {
    transform: used,
    srs: referenceFrom(srsText),
    srsText: epsgNumber(srsText) ?? srsText,
    isOwn: transform === undefined && given.srs === undefined,
  };
  requirePlausible(reference, source);
  return reference;
}

function boxTransform(
  { width, height }: RasterSource,
  box: readonly number[] | undefined,
): GeoTransform | undefined {
  if (!box) return undefined;
  const [xMin, yMin, xMax, yMax] = box as [number, number, number, number];
  return [xMin, (xMax - xMin) / width, 0, yMax, 0, (yMin - yMax) / height];
}

/** The path of a file of the image's name. */
function sidecar({ folder, files, name }: GivenGeoreference, pattern: RegExp): string | undefined {
  const stem = name.slice(0, name.lastIndexOf("."));
  const found = files.find((file) => file.slice(0, file.lastIndexOf(".")) === stem && pattern.test(file));
  return found && join(folder, found);
}

/** The six lines of a world file, which give the centre of the first pixel. */
function worldTransform(given: GivenGeoreference): GeoTransform | undefined {
  const path = sidecar(given, worldExtension);
  if (path === undefined) return undefined;
  const numbers = readFileSync(path, "latin1")
    .slice(0, 10_000)
    .trim()
    .split(/\s+/)
    .slice(0, 6)
    .map((word) => Number(word.replace(",", ".")));
  const [a, d, b, e, c, f] = numbers as [number, number, number, number, number, number];
  if (numbers.length < 6 || !numbers.every(Number.isFinite) || a * e - b * d === 0)
    throw refused("The world file does not have six numbers that place an image.");
  return [c - a / 2 - b / 2, a, b, f - d / 2 - e / 2, d, e];
}

function ownTransform({ dataset }: RasterSource): GeoTransform | undefined {
  const numbers = dataset.geoTransform;
  if (!numbers?.every(Number.isFinite)) return undefined;
  const [, a = 0, b = 0, , d = 0, e = 0] = numbers;
  // The second is what GDAL says of an image without a place.
  const isNone = a * e - b * d === 0 || numbers.join() === "0,1,0,0,0,1";
  return isNone ? undefined : (numbers as unknown as GeoTransform);
}

/** The request's, the .prj file's, the image's own, else EPSG:4326. */
function srsTextOf({ dataset }: RasterSource, given: GivenGeoreference): string {
  if (given.srs !== undefined) return given.srs;
  const path = sidecar(given, /\.prj$/);
  const wkt = path && readProjectionFile(path);
  if (wkt !== "" && path) return textOf(fromProjection(wkt));
  const own = given.box ? undefined : readReference(dataset, dataset, textOf);
  return own ?? "4326";
}

function fromProjection(wkt: string | undefined): gdal.SpatialReference {
  try {
    return referenceFrom(wkt ?? "");
  } catch {
    throw refused("The .prj file has no spatial reference that is supported here: give srs.");
  }
}

/** @throws Refusal for degrees that cannot be any, and for metres that look like degrees */
function requirePlausible({ transform, srs }: Georeference, { width, height }: RasterSource): void {
  const corners = [
    [0, 0],
    [width, 0],
    [0, height],
    [width, height],
  ].map(([column, row]) => placeOf(transform, column!, row!));
  const xs = corners.map(([x]) => Math.abs(x));
  const ys = corners.map(([, y]) => Math.abs(y));
  const isWithin = (x: number, y: number) => Math.max(...xs) <= x && Math.max(...ys) <= y;
  if (srs.isGeographic()) {
    if (!isWithin(540, 90.5))
      throw refused("The coordinates of the image are no degrees: give srs, its spatial reference.");
  } else if (isWithin(180, 90)) {
    throw refused("The coordinates of the image look like degrees, but its spatial reference is in metres.");
  }
}

/** x and y of a column and row, which count from the image's top left corner. */
export const placeOf = (t: GeoTransform, column: number, row: number): [x: number, y: number] => [
  t[0] + column * t[1] + row * t[2],
  t[3] + column * t[4] + row * t[5],
];
