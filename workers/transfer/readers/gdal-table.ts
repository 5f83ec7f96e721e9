import type gdal from "gdal-async";
import type { RowSink } from "../sink.js";
import { type Cell, coordinateNote, findCoordinateColumns, RowGeometry } from "./coordinate-columns.js";

/** Rows in which columns with coordinates are looked for. */
const sampleRows = 500;

/** The geometry of a layer that has none of its own, such as a sheet: that of its columns with coordinates. */
export function tableGeometry(layer: gdal.Layer, sink: RowSink, srsIsGiven: boolean): RowGeometry {
  const names = layer.fields.getNames();
  const sample: Cell[][] = [];
  const { features } = layer;
  for (let row = features.first(); row && sample.length < sampleRows; row = features.next())
    sample.push(row.fields.toArray().map(cellOf));
  const columns = findCoordinateColumns(names, sample);
  sink.note(coordinateNote(names, columns));
  return new RowGeometry(columns, srsIsGiven);
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
