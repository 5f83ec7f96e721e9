import { join } from "node:path";
import gdal from "gdal-async";
import { newReference } from "../srs-objects.js";
import type { Georeference } from "./georeference.js";
import type { Grid } from "./grid.js";
import { type Layout, opaque } from "./layout.js";

/**
 * Makes the processed image: in EPSG:3857, with the pixels of a zoom level, tiled, and with overviews for the zoom levels
 * below. So drawing a tile copies pixels, and transforms nothing.
 */

export const processedName = "processed.tif";
const warpMemory = 64 * 1024 ** 2;
/** Pixels of the source by which a transformed place may be wrong. */
const maxError = 0.125;

export function warp(
  folder: string,
  copy: gdal.Dataset,
  { layout, grid, reference }: { layout: Layout; grid: Grid; reference: Georeference },
): void {
  const path = join(folder, processedName);
  const bands = layout.colours + (layout.alpha ? 1 : 0);
  const target = gdal.open(path, "w", "GTiff", grid.width, grid.height, bands, layout.type, [
    "TILED=YES",
    "COMPRESS=DEFLATE",
    `PREDICTOR=${layout.type.startsWith("Float") ? 3 : 2}`,
    "BIGTIFF=IF_SAFER",
    "SPARSE_OK=TRUE",
    `PHOTOMETRIC=${layout.isRgb ? "RGB" : "MINISBLACK"}`,
    ...(layout.alpha ? ["ALPHA=YES"] : []),
  ]);
  try {
    // While it is made, x counts from the image's middle, so that an image across the antimeridian is in one piece.
    const shift = (grid.centre / 180) * halfWorld;
    const place = (left: number) => [left, grid.resolution, 0, grid.top, 0, -grid.resolution];
    target.geoTransform = place(grid.left - shift);
    target.srs = mercatorAround(grid.centre);
    if (layout.nodata !== undefined)
      target.bands.forEach((band) => {
        band.noDataValue = layout.nodata!;
      });
    gdal.reprojectImage({
      src: copy,
      dst: target,
      s_srs: reference.srs,
      t_srs: mercatorAround(grid.centre),
      resampling: layout.isDiscrete ? gdal.GRA_NearestNeighbor : gdal.GRA_Bilinear,
      memoryLimit: warpMemory,
      maxError,
      ...bandsOf(layout),
      options: optionsOf(layout),
    });
    target.geoTransform = place(grid.left);
    target.srs = newReference(() => gdal.SpatialReference.fromEPSG(3857));
  } finally {
    target.close();
  }
  // Colours of a palette are written out, and may be mixed then.
  addOverviews(path, grid, layout.isDiscrete && !layout.palette ? "NEAREST" : "AVERAGE");
}

const halfWorld = 20037508.342789244;

const mercatorAround = (longitude: number): gdal.SpatialReference =>
  newReference(() =>
    gdal.SpatialReference.fromProj4(`+proj=webmerc +datum=WGS84 +lon_0=${longitude} +units=m +no_defs`),
  );

function bandsOf({ colours, alpha, nodata }: Layout) {
  const list = Array.from({ length: colours }, (_, index) => index + 1);
  const both = { srcBands: list, dstBands: list };
  if (alpha) return { ...both, srcAlphaBand: colours + 1, dstAlphaBand: colours + 1 };
  return { ...both, srcNodata: nodata!, dstNodata: nodata! };
}

function optionsOf({ type, alpha }: Layout): Record<string, string> {
  const full = String(opaque(type));
  return {
    // Tiles are written once, or they are left in the file as waste.
    OPTIMIZE_SIZE: "TRUE",
    ...(alpha
      ? { INIT_DEST: "0", SRC_ALPHA_MAX: full, DST_ALPHA_MAX: full }
      : { INIT_DEST: "NO_DATA", UNIFIED_SRC_NODATA: "NO" }),
  };
}

export function addOverviews(path: string, { factors }: Grid, resampling: "NEAREST" | "AVERAGE"): void {
  if (factors.length === 0) return;
  const dataset = gdal.open(path, "r+", "GTiff");
  try {
    dataset.buildOverviews(resampling, [...factors]);
  } finally {
    dataset.close();
  }
}
