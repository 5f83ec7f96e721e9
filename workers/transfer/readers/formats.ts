import { type ImportFormat, importFormats } from "../../../src/hosts/import-messages.js";
import { readCsv } from "./csv.js";
import { readGdal } from "./gdal.js";
import { readGeoJson, readGeoJsonSequence } from "./geojson.js";
import { readGpx } from "./gpx.js";
import { readKml } from "./kml.js";
import { readMif, readTab } from "./mapinfo.js";
import { readParquetFile } from "./parquet.js";
import type { Reader } from "./reader.js";
import { readShapefile } from "./shapefile.js";
import { readSxf } from "./sxf.js";
import { readXls } from "./xls.js";
import { readXlsx } from "./xlsx.js";

/**
 * The reader of each import format; archives are unpacked before. The extension alone determines the reader, which may find
 * another kind of file of that extension.
 */
const readers: Readonly<Record<Exclude<ImportFormat, "ZIP archive of such files">, Reader>> = {
  GeoJSON: readGeoJson,
  "GeoJSON of one feature a line": readGeoJsonSequence,
  Shapefile: readShapefile,
  "dBASE table": readGdal("ESRI Shapefile"),
  "MapInfo TAB": readTab,
  "MapInfo MIF": readMif,
  KML: readKml,
  GPX: readGpx,
  XLSX: readXlsx,
  CSV: readCsv,
  XLS: readXls,
  DXF: readGdal("DXF"),
  SXF: readSxf,
  GeoPackage: readGdal("GPKG"),
  GML: readGdal("GML"),
  FlatGeobuf: readGdal("FlatGeobuf"),
  Parquet: readParquetFile,
};

interface FormatReader {
  readonly format: ImportFormat;
  readonly read: Reader;
}

const byExtension: ReadonlyMap<string, FormatReader> = new Map(
  Object.entries(readers).flatMap(([name, read]) => {
    const format = name as ImportFormat;
    return importFormats[format].map((extension): [string, FormatReader] => [extension, { format, read }]);
  }),
);

/** The reader for a lower-case extension, or undefined when the format is not supported. */
export const readerFor = (extension: string): FormatReader | undefined => byExtension.get(extension);
