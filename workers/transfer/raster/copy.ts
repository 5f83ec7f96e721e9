import { join } from "node:path";
import gdal from "gdal-async";
import { refused } from "../refusal.js";
import type { Georeference } from "./georeference.js";
import { type Layout, opaque } from "./layout.js";
import type { PixelType, RasterSource } from "./source.js";

/**
 * Copies all pixels of an image to a tiled TIFF of ours, with its place. It is the only step that reads the uploaded file:
 * what the file may refer to or leave undecided does not reach those that follow, and a damaged file fails here.
 */

export type Pixels =
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

export const arrays: Readonly<Record<PixelType, new (length: number) => Pixels>> = {
  Byte: Uint8Array,
  Int16: Int16Array,
  UInt16: Uint16Array,
  Int32: Int32Array,
  UInt32: Uint32Array,
  Float32: Float32Array,
  Float64: Float64Array,
};

/** Of all bands that are read at a time. */
const windowPixels = 2 ** 22;
const tile = 256;

export interface Window {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** @returns the copy, open @throws Refusal import_failed when pixels cannot be read */
export function copyPixels(
  folder: string,
  source: RasterSource,
  layout: Layout,
  { transform, srs }: Georeference,
): gdal.Dataset {
  const bands = layout.colours + (layout.alpha ? 1 : 0);
  const copy = gdal.open(
    join(folder, "copy.tif"),
    "w",
    "GTiff",
    source.width,
    source.height,
    bands,
    layout.type,
    ["TILED=YES", "COMPRESS=LZW", "BIGTIFF=IF_SAFER", "SPARSE_OK=TRUE"],
  );
  copy.geoTransform = [...transform];
  copy.srs = srs;
  if (layout.nodata !== undefined)
    copy.bands.forEach((band) => {
      band.noDataValue = layout.nodata!;
    });
  for (const window of windows(source)) {
    const values = readWindow(source, layout, window);
    for (const [index, pixels] of values.entries())
      copy.bands
        .get(index + 1)
        .pixels.write(window.x, window.y, window.width, window.height, pixels as never);
  }
  copy.flush();
  return copy;
}

/** Parts of an image from its top, as wide as possible, in whole rows of tiles. */
export function* windows({
  width,
  height,
  dataset,
}: Pick<RasterSource, "width" | "height" | "dataset">): Generator<Window> {
  const most = Math.max(tile * tile, Math.floor(windowPixels / dataset.bands.count()));
  const columns = Math.min(width, Math.max(tile, Math.floor(most / tile / tile) * tile));
  const rows = Math.min(height, Math.max(tile, Math.floor(most / columns / tile) * tile));
  for (let y = 0; y < height; y += rows) {
    for (let x = 0; x < width; x += columns)
      yield { x, y, width: Math.min(columns, width - x), height: Math.min(rows, height - y) };
  }
}

/** Values of the processed bands, alpha last. */
function readWindow(source: RasterSource, layout: Layout, window: Window): Pixels[] {
  const colours = layout.palette ? 1 : layout.colours;
  const raw = Array.from({ length: colours }, (_, index) =>
    read(source.dataset.bands.get(index + 1), source.type, window),
  );
  const result = layout.palette ? expanded(raw[0]!, layout.palette) : layout.isHalved ? raw.map(halved) : raw;
  if (!layout.alpha) return result;
  const alpha = alphaOf(raw, source, layout, window);
  // Indices of a palette may be transparent themselves.
  const own = result.length > layout.colours ? result.pop() : undefined;
  if (own) for (let at = 0; at < alpha.length; at++) alpha[at] = Math.min(alpha[at]!, own[at]!);
  return [...result, alpha];
}

export function read(band: gdal.RasterBand, type: PixelType, { x, y, width, height }: Window): Pixels {
  const values = new arrays[type](width * height);
  try {
    band.pixels.read(x, y, width, height, values as never, { data_type: type } as never);
  } catch {
    throw refused("The image is damaged: some of its pixels cannot be read.");
  }
  return values;
}

function alphaOf(raw: readonly Pixels[], source: RasterSource, layout: Layout, window: Window): Pixels {
  const { alpha, type } = layout;
  const result = new arrays[type](window.width * window.height);
  const full = opaque(type);
  if (alpha?.kind === "band" || alpha?.kind === "mask") {
    const given = read(alpha.band, source.type, window);
    for (let at = 0; at < given.length; at++) {
      const value = given[at]!;
      result[at] = alpha.kind === "mask" ? (value > 0 ? full : 0) : layout.isHalved ? value >> 8 : value;
    }
    return result;
  }
  result.fill(full);
  if (alpha?.kind !== "nodata") return result;
  for (let at = 0; at < result.length; at++)
    if (alpha.values.every((value, band) => isSame(raw[band]![at]!, value))) result[at] = 0;
  return result;
}

const isSame = (one: number, other: number): boolean =>
  one === other || (Number.isNaN(one) && Number.isNaN(other));

/** Red, green, blue and alpha of indices. */
function expanded(indices: Pixels, palette: Uint8Array): Pixels[] {
  const bands = Array.from({ length: 4 }, () => new Uint8Array(indices.length));
  for (let at = 0; at < indices.length; at++) {
    const entry = 4 * indices[at]!;
    for (let band = 0; band < 4; band++) bands[band]![at] = palette[entry + band]!;
  }
  return bands;
}

function halved(values: Pixels): Pixels {
  const result = new Uint8Array(values.length);
  for (let at = 0; at < values.length; at++) result[at] = values[at]! >> 8;
  return result;
}
