import { type ImportFormat, importFormats } from "../../../src/hosts/import-messages.js";
import { readGdal } from "./gdal.js";
import { readGeoJson, readGeoJsonSequence } from "./geojson.js";
import type { Reader } from "./reader.js";

/** The reader of each import format. The extension alone determines the reader; the content is not inspected. */
const readers: Readonly<Record<ImportFormat, Reader>> = {
  GeoJSON: readGeoJson,
  "GeoJSON of one feature a line": readGeoJsonSequence,
  Shapefile: readGdal("ESRI Shapefile"),
  DXF: readGdal("DXF"),
  GeoPackage: readGdal("GPKG"),
  GML: readGdal("GML"),
  FlatGeobuf: readGdal("FlatGeobuf"),
};

const byExtension: ReadonlyMap<string, Reader> = new Map(
  Object.entries(importFormats).flatMap(([format, extensions]) =>
    extensions.map((extension) => [extension, readers[format as ImportFormat]]),
  ),
);

/** The reader for a lower-case extension, or undefined when the format is not supported. */
export const readerFor = (extension: string): Reader | undefined => byExtension.get(extension);
