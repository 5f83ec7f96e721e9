import { closeSync, openSync, readSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import gdal from "gdal-async";
import { badGeometry, refused } from "../refusal.js";
import type { ByteBudget } from "../zip-archive.js";
import type { FeatureSource } from "./feature-source.js";
import { UnsoundMessage } from "./flatbuffer-tables.js";
import {
  columnTypes,
  FlatGeobufFeatures,
  type FlatGeobufValue,
  maxFeatureBytes,
} from "./flatgeobuf-features.js";
import { type FlatGeobufHeader, readFlatGeobufHeader } from "./flatgeobuf-header.js";

/**
 * The features of a layer by way of a copy in FlatGeobuf, which GDAL writes: it takes a fifth of the time that the objects
 * take by which the binding hands features over. Only layers whose copy holds all that the layer does are read so.
 */

export interface CopyTask {
  readonly driver: string;
  readonly dataset: gdal.Dataset;
  readonly layer: gdal.Layer;
  /** The file. The copy lies beside it. */
  readonly path: string;
  /** The number of features in the layer. */
  readonly expected: number;
  readonly budget: ByteBudget;
}

/** Types of columns that a field of each type may get. A column of fewer bits than GDAL has for the type may round. */
const typesOfFields: Readonly<Record<string, readonly number[]>> = {
  [gdal.OFTInteger]: [columnTypes.bool, columnTypes.int],
  [gdal.OFTInteger64]: [columnTypes.long],
  [gdal.OFTReal]: [columnTypes.double],
  [gdal.OFTString]: [columnTypes.string],
  [gdal.OFTDate]: [columnTypes.datetime],
  [gdal.OFTDateTime]: [columnTypes.datetime],
  [gdal.OFTTime]: [columnTypes.string],
};

/** @returns undefined when the layer cannot be read by way of a copy */
export function copiedFeatures(task: CopyTask): FeatureSource | undefined {
  const selection = selectionOf(task);
  if (!selection || !hasRoom(task)) return undefined;
  const copy = join(dirname(task.path), "features.fgb");
  const options = ["-f", "FlatGeobuf", "-lco", "SPATIAL_INDEX=NO", "-nln", "features"];
  try {
    gdal.vectorTranslate(copy, task.dataset, [...options, ...selection.options]).close();
    const header = readFlatGeobufHeader(copy);
    // FlatGeobuf has no features without geometry.
    if (
      header.features === task.expected &&
      task.budget.allows(statSync(copy).size) &&
      fits(task, header, selection)
    )
      return new CopiedFeatures(copy, header, selection.hasBlobs);
  } catch {
    // GDAL reads the features themselves then, and tells what is wrong with them.
  }
  rmSync(copy, { force: true });
  return undefined;
}

interface Selection {
  readonly options: readonly string[];
  /** Whether the first column is the geometry as a GeoPackage has it. */
  readonly hasBlobs: boolean;
}

function selectionOf({ driver, dataset, layer, path }: CopyTask): Selection | undefined {
  const fields = layer.fields.getNames();
  const isDistinct = (names: readonly string[]) =>
    new Set(names.map((name) => name.toLowerCase())).size === names.length;
  const areKnown = layer.fields.map(({ type }) => type in typesOfFields).every(Boolean);
  if (!areKnown || !isDistinct(fields)) return undefined;
  if (driver === "GPKG") return { options: ["-nlt", plane, "-sql", blobSql(layer, fields)], hasBlobs: true };
  const geometry = geometryOf(driver, layer.geomType, path);
  // The name must be no option.
  const names = [...dataset.layers].map(({ name }) => name);
  return geometry !== undefined && isDistinct(names) && /^[\p{L}\d_]/u.test(layer.name)
    ? { options: ["-nlt", geometry, layer.name], hasBlobs: false }
    : undefined;
}

/** Names of ogr2ogr for geometry of any kind. */
const plane = "GEOMETRY";
const withHeights = "GEOMETRYZ";

/**
 * The geometry of the copy of a layer of that type; undefined when a copy cannot hold it, or the layer may have heights here
 * and there.
 */
function geometryOf(driver: string, type: number, path: string): string | undefined {
  const isKind = (kind: number) => kind >= gdal.wkbUnknown && kind <= gdal.wkbGeometryCollection;
  const isHigh = isKind(type - gdal.wkb25DBit);
  switch (driver) {
    case "MapInfo File":
      return isKind(type) ? plane : undefined;
    case "GML":
      return isKind(type) && type !== gdal.wkbUnknown ? plane : undefined;
    case "ESRI Shapefile":
      return isKind(type) ? plane : isHigh && !hasMeasures(path) ? withHeights : undefined;
    case "FlatGeobuf":
      return isKind(type) ? plane : isHigh ? withHeights : undefined;
    default:
      return undefined;
  }
}

/** Whether a shapefile with heights has measures too, by the range of them in its header. */
function hasMeasures(path: string): boolean {
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  // Numbers below stand for no measure.
  const isMeasure = (value: number) => value !== 0 && value > -1e38;
  return isMeasure(header.readDoubleLE(84)) || isMeasure(header.readDoubleLE(92));
}

/** A point in a GeoPackage. */
const pointBlob = `47500001000000000101000000${"00".repeat(16)}`;

/**
 * SQL for the geometries of a GeoPackage as they are, with empty ones, and heights of some. A point in place of each is the
 * geometry of the copy.
 */
function blobSql(layer: gdal.Layer, fields: readonly string[]): string {
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  // An expression is not taken for a geometry, whatever its bytes are.
  const blob = `coalesce(substr(${quoted(layer.geomColumn)}, 2), x'') as "gpkg blob"`;
  const list = [`x'${pointBlob}' as "gpkg point"`, blob, ...fields.map(quoted)];
  return `select ${list.join(", ")} from ${quoted(layer.name)}`;
}

/** Whether the copy will not fill the disk, or take more room than the import has. */
function hasRoom({ path, expected, budget }: CopyTask): boolean {
  const { bavail, bsize } = statfsSync(dirname(path));
  // GDAL's features have a hundred bytes besides their values.
  const estimate = 4 * statSync(path).size + 300 * expected;
  return estimate < (bavail * bsize) / 2 && budget.allows(estimate);
}

function fits({ layer }: CopyTask, header: FlatGeobufHeader, { hasBlobs }: Selection): boolean {
  const types = header.columns.map(({ type }) => type);
  if (hasBlobs && types.shift() !== columnTypes.binary) return false;
  const fields = layer.fields.map(({ type }) => typesOfFields[type]!);
  return fields.length === types.length && fields.every((fitting, index) => fitting.includes(types[index]!));
}

class CopiedFeatures implements FeatureSource {
  id = -1;
  private readonly features: FlatGeobufFeatures;

  constructor(
    private readonly path: string,
    header: FlatGeobufHeader,
    private readonly hasBlobs: boolean,
  ) {
    this.features = FlatGeobufFeatures.open(path, header);
  }

  next(): boolean {
    this.id++;
    try {
      return this.features.next();
    } catch (error) {
      if (!(error instanceof UnsoundMessage)) throw error;
      throw refused(`A feature is larger than ${maxFeatureBytes / 1024 ** 2} MB.`);
    }
  }

  values(): readonly FlatGeobufValue[] {
    const { values } = this.features;
    return this.hasBlobs ? values.slice(1) : values;
  }

  geometry(): Buffer | undefined {
    return this.hasBlobs ? wkbIn(this.features.values[0]) : this.features.geometry();
  }

  close(): void {
    this.features.close();
    rmSync(this.path);
  }
}

/** Bytes of the envelope before the WKB, by the number in the flags. */
const envelopeBytes = [0, 32, 48, 48, 64];

/** The WKB in a geometry of a GeoPackage without its first byte; undefined when there is none. */
function wkbIn(blob: FlatGeobufValue | undefined): Buffer | undefined {
  if (!Buffer.isBuffer(blob) || blob.length === 0) return undefined;
  const bytes = envelopeBytes[(blob[2]! >> 1) & 7];
  if (bytes === undefined || blob.length < 7 + bytes) throw badGeometry("its geometry is damaged");
  return blob.subarray(7 + bytes);
}
