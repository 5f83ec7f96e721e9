import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import gdal from "gdal-async";
import { newReference } from "../../workers/transfer/srs-objects.js";

/** Files of geodata that GDAL writes, for tests of imports. */

export interface GdalFile {
  /** Name of the driver. */
  readonly driver: string;
  /** Extension without a dot. */
  readonly extension: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** Values by field, and the geometry as WKT. */
  readonly features: readonly {
    readonly values?: Readonly<Record<string, unknown>>;
    readonly wkt?: string;
  }[];
  /** Default: 4326. */
  readonly epsg?: number;
  /** In place of `epsg`. */
  readonly reference?: () => gdal.SpatialReference;
  readonly geometryType?: number;
  /** Creation options of the layer. */
  readonly options?: readonly string[];
}

/** Writes the file, named `data`, and what belongs to it to an empty folder. @returns contents by file name */
export function writeGdalFile(folder: string, file: GdalFile): Record<string, Buffer> {
  const dataset = gdal.open(
    join(folder, `data.${file.extension}`),
    "w",
    file.driver,
    0,
    0,
    0,
    gdal.GDT_Unknown,
  );
  const layer = dataset.layers.create(
    "data",
    file.reference?.() ?? newReference(() => gdal.SpatialReference.fromEPSG(file.epsg ?? 4326)),
    file.geometryType ?? gdal.wkbPoint,
    [...(file.options ?? [])],
  );
  for (const [name, type] of Object.entries(file.fields ?? {}))
    layer.fields.add(new gdal.FieldDefn(name, type));
  for (const { values = {}, wkt } of file.features) {
    const feature = new gdal.Feature(layer);
    feature.fields.set(values);
    if (wkt !== undefined) feature.setGeometry(gdal.Geometry.fromWKT(wkt));
    layer.features.add(feature);
  }
  dataset.close();
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}
