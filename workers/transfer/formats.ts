import { type ImportFormat, importFormats } from "../../src/hosts/messages.js";
import { type FeatureReader, readGeoJson, readGeoJsonSequence } from "./documents.js";

/**
 * What reads each format. A file is read by the reader of its extension or not at all: its content never chooses.
 *
 * GeoJSON has a reader of ours, for GDAL's changes values: it decides types by what it can store, re-writes dates
 * and rounds large numbers.
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
