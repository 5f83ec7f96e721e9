import { type FeatureReader, readGeoJson, readGeoJsonSequence } from "./documents.js";

/**
 * What each extension may hold and what reads it. A file is read by the reader of its extension or not at all: its
 * content never chooses.
 *
 * GeoJSON has a reader of ours, for GDAL's changes values: it decides types by what it can store, re-writes dates
 * and rounds large numbers.
 */
const readers: ReadonlyMap<string, FeatureReader> = new Map([
  ["geojson", readGeoJson],
  ["json", readGeoJson],
  ["geojsonl", readGeoJsonSequence],
  ["geojsons", readGeoJsonSequence],
  ["ndjson", readGeoJsonSequence],
]);

/** The reader for a lower-case extension, or undefined when the format is not supported. */
export const readerFor = (extension: string): FeatureReader | undefined => readers.get(extension);
