import { type ImportFormat, importFormats } from "../../src/hosts/messages.js";
import { type FeatureReader, readGeoJson, readGeoJsonSequence } from "./documents.js";

/**
 * The reader of each import format. The extension alone determines the reader; the content is not inspected.
 *
 * GeoJSON has its own reader because GDAL's changes values: it chooses types by what it can store, rewrites dates and
 * rounds large numbers.
 */
const readers: Readonly<Record<ImportFormat, FeatureReader>> = {
  GeoJSON: readGeoJson,
  "GeoJSON of one feature a line": readGeoJsonSequence,
};

const byExtension: ReadonlyMap<string, FeatureReader> = new Map(
  Object.entries(importFormats).flatMap(([format, extensions]) =>
    extensions.map((extension) => [extension, readers[format as ImportFormat]]),
  ),
);

/** The reader for a lower-case extension, or undefined when the format is not supported. */
export const readerFor = (extension: string): FeatureReader | undefined => byExtension.get(extension);
