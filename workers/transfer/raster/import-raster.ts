import gdal from "gdal-async";
import type { RasterImported } from "../../../src/hosts/import-messages.js";
import { copyPixels } from "./copy.js";
import { drawingOf } from "./drawing.js";
import { georeference } from "./georeference.js";
import { extentOf, gridOf } from "./grid.js";
import { layoutOf } from "./layout.js";
import { openRaster } from "./source.js";
import { processedName, warp } from "./warp.js";

/** Imports an image: checks it, and makes the processed image in the folder of the import. */

export interface RasterTask {
  readonly folder: string;
  readonly files: readonly string[];
  /** Name of the image among the files. */
  readonly name: string;
  readonly srs: string | undefined;
  readonly box: readonly number[] | undefined;
  /** Bound on the bytes of its pixels. */
  readonly maxBytes: number;
}

/** @throws Refusal import_failed, no_georeference */
export function importRaster(task: RasterTask): RasterImported {
  configure();
  const source = openRaster(task.folder, task.name, task.maxBytes);
  try {
    const reference = georeference(source, task);
    const grid = gridOf(source, reference);
    const layout = layoutOf(source);
    const copy = copyPixels(task.folder, source, layout, reference);
    try {
      warp(task.folder, copy, { layout, grid, reference });
    } finally {
      copy.close();
    }
    const drawing = drawingOf(task.folder, layout, grid);
    const { dataset, format, width, height } = source;
    return {
      ok: true,
      raster: {
        original: { file: task.name, format },
        processed: processedName,
        ...drawing,
        isDiscrete: layout.isDiscrete,
        extent: extentOf(grid),
        width,
        height,
        bands: dataset.bands.count(),
        srs: reference.srsText,
        transform: reference.transform,
        hasOwnReference: reference.isOwn,
        box: grid.box,
        nodata: dataset.bands.get(1).noDataValue,
      },
      notes: notesOf(dataset, grid.isCut),
    };
  } finally {
    source.dataset.close();
  }
}

/** Options that GDAL reads from its configuration, which holds for the process. */
function configure(): void {
  gdal.config.set("GDAL_CACHEMAX", "256");
  // Otherwise the missing half of a JPEG would be grey.
  gdal.config.set("GDAL_ERROR_ON_LIBJPEG_WARNING", "TRUE");
  gdal.config.set("GDAL_PAM_ENABLED", "NO");
}

function notesOf(dataset: gdal.Dataset, isCut: boolean): string[] {
  const others = dataset.getMetadata("SUBDATASETS") as Record<string, string>;
  const pages = Object.keys(others).filter((key) => key.endsWith("_NAME")).length;
  return [
    ...(pages > 1 ? [`The file has ${pages} images; the first was imported.`] : []),
    ...(isCut ? ["Maps show the image between the latitudes -85.05 and 85.05 only."] : []),
  ];
}
