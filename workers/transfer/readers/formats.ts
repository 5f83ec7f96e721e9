import { type ImportFormat, importFormats } from "../../../src/hosts/import-messages.js";
import { readCsv } from "./csv.js";
import { readGdal } from "./gdal.js";
import { findGdalTables } from "./gdal-tables.js";
import { readGeoJson, readGeoJsonSequence } from "./geojson.js";
import { readGpx } from "./gpx.js";
import { readKml } from "./kml.js";
import { findFolders } from "./kml-folders.js";
import { readMif, readTab } from "./mapinfo.js";
import { readParquetFile } from "./parquet.js";
import type { FindTables, Reader } from "./reader.js";
import { readShapefile } from "./shapefile.js";
import { findShapes } from "./shapefile-head.js";
import { readSxf } from "./sxf.js";
import { findXlsSheets, readXls } from "./xls.js";
import { readXlsx } from "./xlsx.js";
import { findSheets } from "./xlsx-tables.js";

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

/** Of the formats whose files may have several tables, or tell what they hold at their beginning. */
const finders: Readonly<Partial<Record<ImportFormat, FindTables>>> = {
  GeoPackage: findGdalTables("GPKG"),
  GML: findGdalTables("GML"),
  KML: findFolders,
  Shapefile: findShapes,
  XLS: findXlsSheets,
  XLSX: findSheets,
};

export interface FormatReader {
  readonly format: ImportFormat;
  readonly read: Reader;
  /** Absent = each file is one table. */
  readonly find?: FindTables | undefined;
}

const byExtension: ReadonlyMap<string, FormatReader> = new Map(
  Object.entries(readers).flatMap(([name, read]) => {
    const format = name as ImportFormat;
    return importFormats[format].map((extension): [string, FormatReader] => [
      extension,
      { format, read, find: finders[format] },
    ]);
  }),
);

/** The reader for a lower-case extension, or undefined when the format is not supported. */
export const readerFor = (extension: string): FormatReader | undefined => byExtension.get(extension);
