import type gdal from "gdal-async";
import type { Cell } from "./coordinate-columns.js";

/** Rows in which columns with coordinates are looked for. */
const sampleRows = 500;

/** The first rows of a layer without geometry, such as a sheet. */
export function sampleOf({ features }: gdal.Layer): Cell[][] {
  const sample: Cell[][] = [];
  for (let row = features.first(); row && sample.length < sampleRows; row = features.next())
    sample.push(row.fields.toArray().map(cellOf));
  return sample;
}

/** A value of GDAL as a cell. */
export const cellOf = (value: unknown): Cell =>
  typeof value === "string" || typeof value === "number" ? value : null;

/** Whether the layer is a sheet without any cells, for which GDAL gives one empty row. */
export const isBlankSheet = ({ driver }: gdal.Dataset, { features }: gdal.Layer): boolean =>
  driver.description === "XLS" &&
  features.count() === 1 &&
  features
    .first()
    .fields.toArray()
    .every((value) => value === null);
