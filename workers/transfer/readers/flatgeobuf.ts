import gdal from "gdal-async";
import type { FeatureSource } from "./feature-source.js";
import { UnsoundMessage } from "./flatbuffer-tables.js";
import { columnTypes, FlatGeobufFeatures, type FlatGeobufValue } from "./flatgeobuf-features.js";
import { type FlatGeobufHeader, readFlatGeobufHeader } from "./flatgeobuf-header.js";

/** Reads files of FlatGeobuf that somebody has sent. */

/** GDAL's types of fields for the types of columns that are read here. */
const fieldTypes: Readonly<Record<number, string>> = {
  [columnTypes.byte]: gdal.OFTInteger,
  [columnTypes.ubyte]: gdal.OFTInteger,
  [columnTypes.bool]: gdal.OFTInteger,
  [columnTypes.short]: gdal.OFTInteger,
  [columnTypes.ushort]: gdal.OFTInteger,
  [columnTypes.int]: gdal.OFTInteger,
  [columnTypes.uint]: gdal.OFTInteger64,
  [columnTypes.long]: gdal.OFTInteger64,
  [columnTypes.float]: gdal.OFTReal,
  [columnTypes.double]: gdal.OFTReal,
  [columnTypes.string]: gdal.OFTString,
  [columnTypes.json]: gdal.OFTString,
};

/**
 * The features of a file's only layer, which throw `UnsoundMessage` where it is damaged; undefined when the file has to be
 * read by GDAL.
 */
export function directFeatures(layer: gdal.Layer, path: string, expected: number): FeatureSource | undefined {
  const header = headerOf(path);
  if (!header || header.features !== expected || header.geometryType > gdal.wkbGeometryCollection)
    return undefined;
  const types = layer.fields.map(({ type }) => type);
  const isReadable =
    types.length === header.columns.length &&
    header.columns.every((column, index) => fieldTypes[column.type] === types[index]);
  return isReadable ? new DirectFeatures(path, header) : undefined;
}

function headerOf(path: string): FlatGeobufHeader | undefined {
  try {
    return readFlatGeobufHeader(path);
  } catch (error) {
    if (error instanceof UnsoundMessage) return undefined;
    throw error;
  }
}

class DirectFeatures implements FeatureSource {
  id = -1;
  private readonly features: FlatGeobufFeatures;

  constructor(
    path: string,
    private readonly header: FlatGeobufHeader,
  ) {
    this.features = FlatGeobufFeatures.open(path, header);
  }

  next(): boolean {
    this.id++;
    if (this.id === this.header.features) return false;
    if (!this.features.next()) throw new UnsoundMessage();
    return true;
  }

  values(): readonly FlatGeobufValue[] {
    return this.features.values;
  }

  geometry(): Buffer | undefined {
    return this.features.geometry();
  }

  close(): void {
    this.features.close();
  }
}
