import { failed } from "../errors.js";
import type { FormatWriter } from "./export-content.js";
import { writeCsv } from "./write-csv.js";
import { fileWriter } from "./write-files.js";
import { writeGeoJson } from "./write-geojson.js";
import { writeGml } from "./write-gml.js";
import { writeGpx } from "./write-gpx.js";
import { writeKml, writeKmz } from "./write-kml.js";
import { writeXlsx } from "./write-xlsx.js";

/** The export formats and their writers. */

/** Names of formats in the contract; those without a writer are not supported yet. */
const contractFormats = ["shp", "mif", "tab", "geojson", "kml", "kmz", "xls", "geotif", "csv"] as const;
/** Formats and names beyond the contract. */
const otherFormats = ["xlsx", "gpkg", "gml", "gpx", "fgb", "parquet"] as const;
const formatNames = [...contractFormats, ...otherFormats];
export type ExportFormat = (typeof formatNames)[number];

export interface ExportFormatDefinition {
  /** Extension of the file, without a dot. */
  readonly extension: string;
  /** Of the file; a format of several files is always a zip archive. */
  readonly mediaType: string;
  /** Whether a layer becomes several files, which are always packed into a zip archive. */
  readonly hasSeveralFiles?: boolean;
  /** Whether the format is a compressed archive itself, which is never packed again. */
  readonly isArchive?: boolean;
  readonly write: FormatWriter;
}

const xlsx: ExportFormatDefinition = {
  extension: "xlsx",
  mediaType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  write: writeXlsx,
};

/** Images of raster layers are exported by `export-raster.ts`. */
const noImage: FormatWriter = async () => {
  throw failed(
    "unsupported_format",
    "The layer has no image: it can be exported in another format than geotif.",
  );
};

const formats: Readonly<Partial<Record<ExportFormat, ExportFormatDefinition>>> = {
  geotif: { extension: "tif", mediaType: "image/tiff", write: noImage },
  geojson: { extension: "geojson", mediaType: "application/geo+json", write: writeGeoJson },
  csv: { extension: "csv", mediaType: "text/csv", write: writeCsv },
  xls: xlsx,
  xlsx,
  kml: { extension: "kml", mediaType: "application/vnd.google-earth.kml+xml", write: writeKml },
  kmz: {
    extension: "kmz",
    mediaType: "application/vnd.google-earth.kmz",
    isArchive: true,
    write: writeKmz,
  },
  gml: { extension: "gml", mediaType: "application/gml+xml", write: writeGml },
  gpx: { extension: "gpx", mediaType: "application/gpx+xml", write: writeGpx },
  shp: { extension: "shp", mediaType: "application/zip", hasSeveralFiles: true, write: fileWriter("shp") },
  mif: { extension: "mif", mediaType: "application/zip", hasSeveralFiles: true, write: fileWriter("mif") },
  tab: { extension: "tab", mediaType: "application/zip", hasSeveralFiles: true, write: fileWriter("tab") },
  gpkg: { extension: "gpkg", mediaType: "application/geopackage+sqlite3", write: fileWriter("gpkg") },
  fgb: { extension: "fgb", mediaType: "application/flatgeobuf", write: fileWriter("fgb") },
  parquet: {
    extension: "parquet",
    mediaType: "application/vnd.apache.parquet",
    write: fileWriter("parquet"),
  },
};

/** Names of the supported formats, for messages, descriptions and help. */
export const exportFormats: readonly ExportFormat[] = formatNames.filter((name) => formats[name]);

/** Media types of exported files, without those of archives. */
export const exportMediaTypes: readonly string[] = [
  ...new Set(exportFormats.map((name) => formats[name]!.mediaType)),
];

/** @throws Failure invalid_format for an unknown format, unsupported_format for one without a writer */
export function formatOf(name: string): ExportFormatDefinition {
  const known = formatNames.find((one) => one === name);
  const supported = `Layers can be exported as: ${exportFormats.join(", ")}.`;
  if (!known) throw failed("invalid_format", `The format is unknown. ${supported}`);
  const format = formats[known];
  if (!format) throw failed("unsupported_format", `Layers cannot be exported as ${known} yet. ${supported}`);
  return format;
}

const otherExtensions: Readonly<Record<string, ExportFormat>> = {
  tif: "geotif",
  tiff: "geotif",
  png: "geotif",
  jpg: "geotif",
  jpeg: "geotif",
  json: "geojson",
};

/** The format for a lower-case file extension; undefined when there is none. */
export const formatOfExtension = (extension: string): ExportFormat | undefined =>
  Object.hasOwn(otherExtensions, extension)
    ? otherExtensions[extension]
    : formatNames.find((name) => name === extension);

/** Whether two names mean the same format. */
export const isSameFormat = (one: string, other: string): boolean =>
  one === other ||
  (exportFormats.some((name) => name === one) &&
    exportFormats.some((name) => name === other) &&
    formatOf(one).extension === formatOf(other).extension);
