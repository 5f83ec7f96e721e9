import { mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import gdal from "gdal-async";
import { refused } from "../refusal.js";

/** Opens an uploaded image and checks what its header claims, before any pixel is read. */

export interface RasterSource {
  readonly dataset: gdal.Dataset;
  readonly format: RasterFormat;
  readonly width: number;
  readonly height: number;
  readonly type: PixelType;
}

export type RasterFormat = "GTiff" | "PNG" | "JPEG";
/** GDAL's names of the types of pixels that can be imported, with their size in bytes. */
const pixelBytes = { Byte: 1, Int16: 2, UInt16: 2, Int32: 4, UInt32: 4, Float32: 4, Float64: 8 } as const;
export type PixelType = keyof typeof pixelBytes;

const maxBands = 256;
/** Pixels are read by blocks (strips or tiles), each as a whole. */
const maxBlockBytes = 256 * 1024 ** 2;
const maxSide = 2 ** 24;

/**
 * Opens the image by its content, whatever its extension says, with the drivers of the three formats only. It is opened in
 * a folder of its own, so that GDAL finds no other files beside it: .aux.xml, .ovr, .msk, world files and others.
 * @param folder of the import
 * @throws Refusal import_failed
 */
export function openRaster(folder: string, name: string, maxBytes: number): RasterSource {
  const alone = join(folder, "image");
  mkdirSync(alone, { mode: 0o700 });
  const path = join(alone, "source");
  symlinkSync(resolve(folder, name), path);
  let dataset: gdal.Dataset;
  try {
    dataset = gdal.open(path, "r", ["GTiff", "PNG", "JPEG"]);
  } catch {
    throw refused("The file is no image that can be read: it must be a TIFF, PNG or JPEG.");
  }
  try {
    return checked(dataset, maxBytes);
  } catch (error) {
    dataset.close();
    throw error;
  }
}

function checked(dataset: gdal.Dataset, maxBytes: number): RasterSource {
  const { x: width, y: height } = dataset.rasterSize;
  const bands = dataset.bands.count();
  if (bands === 0) throw refused("The file has no image.");
  if (bands > maxBands) throw refused(`The image has ${bands} bands; at most ${maxBands} are allowed.`);
  const first = dataset.bands.get(1);
  const type = pixelTypeOf(first);
  const types = new Set(dataset.bands.map((band) => band.dataType));
  if (types.size > 1) throw refused("The bands of the image have different types of numbers.");
  const bytes = width * height * bands * pixelBytes[type];
  if (bytes > maxBytes || Math.max(width, height) > maxSide) {
    throw refused(
      `The image is too large: ${width} × ${height} pixels of ${bands} bands. ` +
        `Unpacked it may have at most ${Math.round(maxBytes / 1024 ** 2)} MiB.`,
    );
  }
  const block = first.blockSize;
  if (block.x * block.y * bands * pixelBytes[type] > maxBlockBytes)
    throw refused("The image is stored in blocks that are too large: store it in tiles.");
  // GDAL would open the named file.
  const overviews = dataset.getMetadata("OVERVIEWS") as Record<string, string>;
  if (overviews.OVERVIEW_FILE !== undefined)
    throw refused("The image names another file with its overviews.");
  if (first.colorInterpretation === gdal.GCI_CyanBand)
    throw refused("The image has CMYK colours: convert it to RGB.");
  return { dataset, format: dataset.driver.description as RasterFormat, width, height, type };
}

function pixelTypeOf(band: gdal.RasterBand): PixelType {
  const type = band.dataType ?? "";
  if (Object.hasOwn(pixelBytes, type)) return type as PixelType;
  throw refused(`Images of the type ${type} cannot be imported.`);
}
