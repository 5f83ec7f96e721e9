import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import { newReference } from "../../workers/transfer/srs-objects.js";

/** Images that GDAL writes, and what GDAL finds in images, for tests of imports. */

export interface TestImage {
  readonly width: number;
  readonly height: number;
  /** GDAL's name; default: Byte. */
  readonly type?: string;
  /** Value of a pixel in each band. */
  readonly value: (x: number, y: number) => readonly number[];
  readonly epsg?: number;
  /** GDAL's six numbers; absent = no georeference. */
  readonly transform?: readonly number[];
  readonly nodata?: number;
  /** Colours of a palette: red, green, blue, alpha of each index. */
  readonly palette?: readonly (readonly [number, number, number, number])[];
  /** Creation options of a GeoTIFF. */
  readonly options?: readonly string[];
  readonly metadata?: { readonly domain: string; readonly values: Readonly<Record<string, string>> };
}

function inFolder<T>(work: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-raster-"));
  try {
    return work(join(folder, "image.tif"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bytes of a GeoTIFF. */
export const geoTiff = (image: TestImage): Buffer =>
  inFolder((path) => {
    const { width, height, type = gdal.GDT_Byte, value } = image;
    const bands = value(0, 0).length;
    const dataset = gdal.open(path, "w", "GTiff", width, height, bands, type, [...(image.options ?? [])]);
    if (image.transform) dataset.geoTransform = [...image.transform];
    const { epsg } = image;
    if (epsg) dataset.srs = newReference(() => gdal.SpatialReference.fromEPSG(epsg));
    if (image.metadata) dataset.setMetadata(image.metadata.values, image.metadata.domain);
    for (let index = 0; index < bands; index++) {
      const band = dataset.bands.get(index + 1);
      if (image.nodata !== undefined) band.noDataValue = image.nodata;
      if (image.palette) {
        const table = new gdal.ColorTable(gdal.GPI_RGB);
        for (const [at, [c1, c2, c3, c4]] of image.palette.entries()) table.set(at, { c1, c2, c3, c4 });
        band.colorTable = table;
      }
      const pixels = new Float64Array(width * height);
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) pixels[y * width + x] = value(x, y)[index]!;
      band.pixels.write(0, 0, width, height, pixels);
    }
    dataset.close();
    return readFileSync(path);
  });

/** The same image as a cloud-optimized GeoTIFF: in tiles, with overviews. */
export const cloudOptimized = (tiff: Buffer): Buffer =>
  inFolder((path) => {
    gdal.drivers.get("COG").createCopy(path, gdal.open(tiff), ["BLOCKSIZE=128"]).close();
    return readFileSync(path);
  });

export interface FoundImage {
  readonly driver: string;
  readonly width: number;
  readonly height: number;
  readonly type: string;
  readonly bands: number;
  readonly epsg: string | undefined;
  readonly nodata: number | null;
  readonly overviews: number;
  readonly isTiled: boolean;
  readonly transform: readonly number[] | null;
  /** Values of the first band in its overviews, each once. */
  overviewValues(): number[];
  /** Values of all bands at a place in the image's coordinates; undefined outside. */
  at(x: number, y: number): number[] | undefined;
}

/** What GDAL finds in the bytes of an image. */
export function readImage(bytes: Uint8Array): FoundImage {
  const dataset = gdal.open(Buffer.from(bytes));
  const { x: width, y: height } = dataset.rasterSize;
  const first = dataset.bands.get(1);
  const transform = dataset.geoTransform;
  return {
    driver: dataset.driver.description,
    width,
    height,
    type: first.dataType!,
    bands: dataset.bands.count(),
    epsg: dataset.srs?.getAuthorityCode(null as never),
    nodata: first.noDataValue,
    overviews: first.overviews.count(),
    isTiled: first.blockSize.x < width || first.blockSize.x === 256,
    transform,
    overviewValues: () => {
      const values = first.overviews.map((one) => {
        const { x, y } = one.size;
        return [...(one.pixels.read(0, 0, x, y) as Iterable<number>)];
      });
      return [...new Set(values.flat())].sort((one, other) => one - other);
    },
    at: (x, y) => {
      const [left, dx, , top, , dy] = transform as [number, number, number, number, number, number];
      const column = Math.floor((x - left) / dx);
      const row = Math.floor((y - top) / dy);
      if (column < 0 || row < 0 || column >= width || row >= height) return undefined;
      return dataset.bands.map((band) => band.pixels.get(column, row));
    },
  };
}
