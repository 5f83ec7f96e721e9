import { join } from "node:path";
import gdal from "gdal-async";
import { newReference } from "../srs-objects.js";
import { arrays, type Pixels, read, type Window, windows } from "./copy.js";
import type { Grid } from "./grid.js";
import type { Layout } from "./layout.js";
import type { PixelType } from "./source.js";
import { addOverviews, processedName } from "./warp.js";

/**
 * The image that Mapnik draws where the processed one has values that are no colours. It has the same pixels. Of one band it
 * holds numbers, which a style colours; of several bands, three of them as colours of 8 bits.
 */

export interface Drawing {
  /** Name of its file; absent = Mapnik draws the processed image. */
  readonly drawn?: string;
  /** Least and greatest number of the one band. */
  readonly valueRange: readonly [number, number] | null;
}

const drawnName = "drawn.tif";
/** The least number of 32 bits. Mapnik takes neither NaN nor an alpha band for "no value". */
const noValue = -3.4028234663852886e38;
/** Of several bands, values farther than this from the mean are shown darkest or brightest. */
const maxDeviations = 2.5;
const options = ["TILED=YES", "COMPRESS=DEFLATE", "BIGTIFF=IF_SAFER", "SPARSE_OK=TRUE"];

export function drawingOf(folder: string, layout: Layout, grid: Grid): Drawing {
  const isPicture = layout.type === "Byte" && layout.alpha && (layout.colours === 1 || layout.colours === 3);
  if (isPicture) return { valueRange: null };
  const dataset = gdal.open(join(folder, processedName), "r", "GTiff");
  const path = join(folder, drawnName);
  let valueRange: Drawing["valueRange"] = null;
  try {
    const image = { dataset, layout, grid };
    if (layout.colours === 1) valueRange = writeNumbers(path, image);
    else writeColours(path, image);
  } finally {
    dataset.close();
  }
  addOverviews(path, grid, layout.isDiscrete ? "NEAREST" : "AVERAGE");
  return { drawn: drawnName, valueRange };
}

interface ProcessedImage {
  readonly dataset: gdal.Dataset;
  readonly layout: Layout;
  readonly grid: Grid;
}

interface Part {
  readonly window: Window;
  /** Values of the bands that were asked for. */
  readonly values: readonly Pixels[];
  /** Whether a pixel has values. */
  readonly isThere: (at: number) => boolean;
}

/** The image part by part. Bands are counted from 1. */
function* partsOf({ dataset, layout, grid }: ProcessedImage, bands: readonly number[]): Generator<Part> {
  const { type, alpha, colours, nodata } = layout;
  for (const window of windows({ ...grid, dataset })) {
    const of = (band: number) => read(dataset.bands.get(band), type, window);
    const values = bands.map(of);
    const opacity = alpha && of(colours + 1);
    const isThere = (at: number) =>
      (!opacity || opacity[at]! > 0) &&
      values.every((one) => Number.isFinite(one[at]) && (opacity !== undefined || one[at] !== nodata));
    yield { window, values, isThere };
  }
}

function create(
  path: string,
  { grid }: ProcessedImage,
  { bands, type, more }: { readonly bands: number; readonly type: PixelType; readonly more: string[] },
): gdal.Dataset {
  const { width, height, resolution, left, top } = grid;
  const target = gdal.open(path, "w", "GTiff", width, height, bands, type, [...options, ...more]);
  target.geoTransform = [left, resolution, 0, top, 0, -resolution];
  target.srs = newReference(() => gdal.SpatialReference.fromEPSG(3857));
  return target;
}

function write(target: gdal.Dataset, { x, y, width, height }: Window, values: readonly Pixels[]): void {
  for (const [index, pixels] of values.entries())
    target.bands.get(index + 1).pixels.write(x, y, width, height, pixels as never);
}

/** @returns least and greatest */
function writeNumbers(path: string, image: ProcessedImage): [number, number] {
  // Whole numbers of 16 bits are exact in 32 bits of floating point, those of 32 bits in 64.
  const type = /^(?:U?Int32|Float64)$/.test(image.layout.type) ? "Float64" : "Float32";
  const target = create(path, image, { bands: 1, type, more: ["PREDICTOR=3"] });
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  try {
    target.bands.get(1).noDataValue = noValue;
    for (const { window, values, isThere } of partsOf(image, [1])) {
      const numbers = new arrays[type](values[0]!.length).fill(noValue);
      for (let at = 0; at < numbers.length; at++) {
        if (!isThere(at)) continue;
        const value = values[0]![at]!;
        numbers[at] = value;
        if (value < least) least = value;
        if (value > greatest) greatest = value;
      }
      write(target, window, [numbers]);
    }
  } finally {
    target.close();
  }
  return least <= greatest ? [least, greatest] : [0, 0];
}

/** Three bands as red, green and blue; of two bands the first as grey. */
function writeColours(path: string, image: ProcessedImage): void {
  const { layout } = image;
  const shown = layout.colours >= 3 ? [1, 2, 3] : [1, 1, 1];
  const ranges = layout.type === "Byte" ? shown.map(() => [0, 255] as const) : rangesOf(image, shown);
  const more = ["PHOTOMETRIC=RGB", "ALPHA=YES", "PREDICTOR=2"];
  const target = create(path, image, { bands: 4, type: "Byte", more });
  try {
    for (const { window, values, isThere } of partsOf(image, shown)) {
      const bytes = Array.from({ length: 4 }, () => new Uint8Array(values[0]!.length));
      for (let at = 0; at < values[0]!.length; at++) {
        if (!isThere(at)) continue;
        for (const [band, [least, greatest]] of ranges.entries()) {
          const part = (values[band]![at]! - least) / (greatest - least || 1);
          bytes[band]![at] = Math.round(255 * Math.min(1, Math.max(0, part)));
        }
        bytes[3]![at] = 255;
      }
      write(target, window, bytes);
    }
  } finally {
    target.close();
  }
}

/** Of each band the values that are shown darkest and brightest. */
function rangesOf(image: ProcessedImage, bands: readonly number[]): (readonly [number, number])[] {
  const found = bands.map(() => ({ count: 0, sum: 0, squares: 0, least: Infinity, greatest: -Infinity }));
  for (const { values, isThere } of partsOf(image, bands)) {
    for (let at = 0; at < values[0]!.length; at++) {
      if (!isThere(at)) continue;
      for (const [band, of] of found.entries()) {
        const value = values[band]![at]!;
        of.count++;
        of.sum += value;
        of.squares += value * value;
        of.least = Math.min(of.least, value);
        of.greatest = Math.max(of.greatest, value);
      }
    }
  }
  return found.map(({ count, sum, squares, least, greatest }) => {
    if (count === 0) return [0, 1];
    const mean = sum / count;
    const spread = maxDeviations * Math.sqrt(Math.max(0, squares / count - mean * mean));
    return [Math.max(least, mean - spread), Math.min(greatest, mean + spread)];
  });
}
