import gdal from "gdal-async";
import { badFeature, badGeometry } from "../refusal.js";
import type { FeatureSource } from "./feature-source.js";
import { query } from "./gdal-query.js";

/** The features of a layer as the binding of GDAL gives them: whatever GDAL can read, but with several objects for each. */
export class GdalFeatures implements FeatureSource {
  private readonly features: gdal.LayerFeatures;
  private feature: gdal.Feature | null = null;
  private begun = false;

  constructor(dataset: gdal.Dataset, layer: gdal.Layer) {
    this.features = typedLayer(dataset, layer).features;
  }

  next(): boolean {
    this.feature = this.begun ? this.features.next() : this.features.first();
    this.begun = true;
    return this.feature !== null;
  }

  get id(): number {
    return this.feature!.fid;
  }

  values(): readonly unknown[] {
    try {
      return this.feature!.fields.toArray();
    } catch {
      throw badFeature("its values cannot be read");
    }
  }

  geometry(): Buffer | undefined {
    try {
      return this.feature!.getGeometry()?.toWKB("LSB", "ISO");
    } catch {
      // Geometries of curves within a layer of mixed ones, and solids.
      throw badGeometry("its geometry is of a kind that cannot be stored, such as a curve or a solid");
    }
  }

  close(): void {
    // It goes with the dataset.
  }
}

/**
 * The layer with whole numbers of 64 bits and with times as text: the binding gives the former as doubles, and the latter
 * without fractions of seconds.
 */
function typedLayer(dataset: gdal.Dataset, layer: gdal.Layer): gdal.Layer {
  const fields = layer.fields.map((field) => ({ name: field.name, type: field.type }));
  const isInexact = ({ type }: { type: string }) => inexactTypes.has(type);
  if (!fields.some(isInexact)) return layer;
  const list = fields.map((field) => {
    const name = quoted(field.name);
    return isInexact(field) ? `cast(${name} as character(64)) as ${name}` : name;
  });
  // GDAL's own dialect keeps the geometry, which a database's SQL leaves out unless it is named.
  return query(dataset, `select ${list.join(", ")} from ${quoted(layer.name)}`, "OGRSQL");
}

const inexactTypes: ReadonlySet<string> = new Set([
  gdal.OFTInteger64,
  gdal.OFTDateTime,
  gdal.OFTDate,
  gdal.OFTTime,
]);

const quoted = (name: string): string => `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
