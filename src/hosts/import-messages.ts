import type { RasterFacts } from "../catalog/state.js";
import type { ValueType } from "../column-types/column-types.js";
import type { HostAddress } from "../database-hosts.js";
import type { GeometryKind } from "../geo/wkb.js";

/** The task of importing files of geodata into a staging table, and its result. */

/**
 * Import formats: the name shown to users, and the file extensions (lower case). The transfer host has a reader for
 * each; documentation and error messages take the names from here.
 */
export const importFormats = {
  GeoJSON: ["geojson", "json"],
  "GeoJSON of one feature a line": ["geojsonl", "geojsons", "ndjson"],
  Shapefile: ["shp"],
  "dBASE table": ["dbf"],
  "MapInfo TAB": ["tab"],
  "MapInfo MIF": ["mif"],
  KML: ["kml", "kmz"],
  GPX: ["gpx"],
  XLSX: ["xlsx"],
  CSV: ["csv", "tsv", "txt"],
  XLS: ["xls"],
  DXF: ["dxf"],
  SXF: ["sxf"],
  GeoPackage: ["gpkg"],
  GML: ["gml"],
  FlatGeobuf: ["fgb"],
  Parquet: ["parquet", "geoparquet"],
  "ZIP archive of such files": ["zip"],
} as const;
export type ImportFormat = keyof typeof importFormats;

/** Formats of images, which become raster layers: as `importFormats`. What a file is, its content tells. */
export const rasterFormats = {
  GeoTIFF: ["tif", "tiff", "geotif", "geotiff"],
  PNG: ["png"],
  JPEG: ["jpg", "jpeg"],
} as const;

const rasterExtensions: readonly string[] = Object.values(rasterFormats).flat();

/** Whether files of the extension (lower case) are images. */
export const isRasterExtension = (extension: string): boolean => rasterExtensions.includes(extension);

/** Usual extensions of world files, by the first letter of the image's. */
const worldExtensions: Readonly<Record<string, string>> = { t: "tfw", g: "tfw", p: "pgw", j: "jgw" };

/** Extensions of files that belong to a file of the same name in another format, by its extension. */
export const sidecarExtensions: Readonly<Record<string, readonly string[]>> = {
  shp: ["dbf", "shx", "prj", "cpg"],
  tab: ["dat", "map", "id", "ind", "dbf"],
  mif: ["mid"],
  sxf: ["rsc"],
  ...Object.fromEntries(
    rasterExtensions.map((extension) => [
      extension,
      ["wld", "prj", `${extension}w`, worldExtensions[extension[0]!]!],
    ]),
  ),
};

const importable: ReadonlySet<string> = new Set([
  ...Object.values(importFormats).flat(),
  ...rasterExtensions,
  ...Object.values(sidecarExtensions).flat(),
]);

/** Whether files with the extension (lower case) are of an import format, or belong to such a file. */
export const isImportable = (extension: string): boolean => importable.has(extension);

/** For error messages and help: `GeoJSON (.geojson, .json), …`. */
export const importFormatList: string = Object.entries({ ...importFormats, ...rasterFormats })
  .map(([format, extensions]) => `${format} (${extensions.map((extension) => `.${extension}`).join(", ")})`)
  .join(", ");

/** Import of one file, or of several that belong together, into a staging table. */
export interface ImportRequest extends HostAddress {
  /** A folder of this import alone, which the server removes afterwards. The host unpacks archives there. */
  readonly folder: string;
  /** Names of the files in the folder, made by the server; their extensions (lower case) decide the format. */
  readonly files: readonly string[];
  /** What the client calls each of them. Tables are named by it; it is never part of a path. */
  readonly clientNames: readonly string[];
  /** Name of the only table that is read; absent = all of them. */
  readonly table?: string;
  /** Whether a file of several tables is refused, and `data.tables` lists them. */
  readonly isOneTable?: boolean;
  /** Spatial reference of the data as the client gave it; absent = the file's own, else EPSG:4326. */
  readonly srs?: string;
  /** Text encoding as the client gave it; absent = what the file says, else what its bytes look like. */
  readonly encoding?: string;
  /** Names of the columns of a table with east and north, or with geometry; [] = none; absent = they are found. */
  readonly coordinates?: readonly string[];
  /** Of an image, in `srs`: xmin, ymin, xmax, ymax. */
  readonly rasterBox?: readonly number[];
  /** Bound on the bytes of an image's pixels. */
  readonly maxRasterBytes: number;
  /** Bound on the size of all unpacked files. */
  readonly maxUnpackedBytes: number;
  /** Whether all features that cannot be imported are counted; else the import ends when there are many. */
  readonly partial: boolean;
  /** Name of the staging table (made by the server, in schema `staging`). */
  readonly stagingTable: string;
}

/** A property of the file, in the file's order. Staging has it as column `p<index>` (text). */
export interface ImportedField {
  readonly name: string;
  readonly type: Exclude<ValueType, "file">;
  /** How the staged texts are written, if not as the API writes values of the type. */
  readonly notation?: Notation;
  /** Whether some of its values are numbers in the file, not texts. They are staged as the API writes numbers. */
  readonly hasNumbers?: true;
}

/**
 * What `texts` of a row of the staging table has, beside indexes of JSON strings, for a string of another format that is one number
 * with a decimal point and another with groups of digits, such as 1.234.
 */
export const markOfText = (index: number): number => -1 - index;

/**
 * Notations of values in files without types. Blank texts are no values in all of them.
 *
 * - `loose`: as the API, but with spaces around, capital letters, or no digit before the point
 * - `decimal comma`: 3,14; 1 234,5; 1.234,5
 * - `grouped`: 1,234.5; 1 234.5
 * - `day first`: 31.12.2024 or 31/12/2024; `month first`: 12/31/2024; `year first`: 2024/12/31. A time of day may follow.
 */
export type Notation = "loose" | "decimal comma" | "grouped" | "day first" | "month first" | "year first";

/** A feature that cannot be imported. */
export interface BadRow {
  /** Number of the feature in the file, from 1. */
  readonly row: number;
  /** A clause with a full stop, which completes `Feature 1: …`. */
  readonly reason: string;
  readonly code: "import_failed" | "invalid_geometry" | "constraint_violated";
}

/** An image that was imported. */
export interface ImportedRaster extends RasterFacts {
  /** The uploaded image: its name in the folder of the import, and GDAL's name of its format. */
  readonly original: { readonly file: string; readonly format: "GTiff" | "PNG" | "JPEG" };
  /** Name of the processed image in the folder: a GeoTIFF in EPSG:3857, tiled, with overviews. */
  readonly processed: string;
  /** Name of the image that tiles are drawn from; absent = the processed one. */
  readonly drawn?: string;
  /** West, south, east, north in degrees; longitudes beyond ±180 go on across the antimeridian. */
  readonly box: readonly [number, number, number, number];
}

/** The response for an image; nothing is written to the staging table. */
export interface RasterImported {
  readonly ok: true;
  readonly raster: ImportedRaster;
  readonly notes: readonly string[];
}

/** A layer of a file: a table of a GeoPackage, a sheet of a workbook; other files are one layer. */
export interface FileLayer {
  readonly name: string;
  /** As GDAL names types of geometry; absent = the format has no types. */
  readonly geometry?: string;
  /** Absent = not known without reading it. */
  readonly features?: number;
  /** As an import takes it: `EPSG:` and a number, or WKT; absent = the file says nothing. */
  readonly srs?: string;
  /** Label of the encoding that its texts were read in; absent = that of the format. */
  readonly encoding?: string;
  /** Whether the import takes it. */
  readonly isRead: boolean;
}

/** A table that can be imported by itself, as `data.tables` of a refusal lists it. */
export interface FileTable {
  readonly name: string;
  readonly format: ImportFormat;
  /** As GDAL names types of geometry; absent = it has none, or that is not known. */
  readonly geometry_type?: string;
  /** Absent = not known without reading it. */
  readonly features?: number;
}

/** A file among those of an import. */
export interface FileFormat {
  readonly format: ImportFormat;
  readonly layers: readonly FileLayer[];
}

/** What is told while a file is read. */
export interface ImportProgress {
  /** Features so far. */
  readonly rows: number;
}

/** Errors have codes of the contract. Nothing is left out silently. */
export type ImportResponse =
  | RasterImported
  | {
      readonly ok: true;
      readonly raster?: undefined;
      readonly fields: readonly ImportedField[];
      /** Features of the file, the bad ones included; staging has only the others. */
      readonly rows: number;
      /** Features that were left out; the first of them one by one. */
      readonly bad: { readonly count: number; readonly rows: readonly BadRow[] };
      readonly geometryKind: GeometryKind;
      readonly vertices: number;
      /** What the file calls its data; absent = it says nothing, or there are several files. */
      readonly title?: string;
      /** Names of the columns that places come from, of the first table without places of its own: [] = none. */
      readonly coordinates?: readonly string[];
      /** What was left out or changed, in sentences for the user. */
      readonly notes: readonly string[];
      /** The files that were read, at most 100, with at most 1,000 layers each. */
      readonly files: readonly FileFormat[];
    }
  | {
      readonly ok: false;
      readonly code:
        | "import_failed"
        | "unsupported_format"
        | "no_georeference"
        | "invalid_geometry"
        | "invalid_value"
        /** The database is away: the file may be sent again. */
        | "busy";
      readonly error: string;
      readonly data?: Readonly<Record<string, unknown>>;
    };
