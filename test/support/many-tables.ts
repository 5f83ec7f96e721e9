import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";

/** GeoPackages of several tables, for tests. */

export interface ManyTable {
  readonly name: string;
  /** As WKT; null = an object without a geometry. */
  readonly objects: readonly (string | null)[];
  /** Default: points. */
  readonly type?: number;
}

/** Each object has its number, from 1, in the column `n`. */
export function geoPackageOf(...tables: readonly ManyTable[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-tables-"));
  try {
    const path = join(folder, "many.gpkg");
    const dataset = gdal.open(path, "w", "GPKG", 0, 0, 0, gdal.GDT_Unknown);
    for (const [index, { objects, type = gdal.wkbPoint }] of tables.entries()) {
      const layer = dataset.layers.create(`t${index}`, gdal.SpatialReference.fromEPSG(4326), type);
      layer.fields.add(new gdal.FieldDefn("n", gdal.OFTInteger));
      for (const [at, wkt] of objects.entries()) {
        const feature = new gdal.Feature(layer);
        feature.fields.set({ n: at + 1 });
        if (wkt !== null) feature.setGeometry(gdal.Geometry.fromWKT(wkt));
        layer.features.add(feature);
      }
    }
    dataset.close();
    rename(path, tables);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Gives the tables their names, of which GDAL makes some only so. */
function rename(path: string, tables: readonly ManyTable[]): void {
  const dataset = gdal.open(path, "r+", "GPKG");
  for (const [index, { name }] of tables.entries()) {
    try {
      dataset.executeSQL(`alter table t${index} rename to "${name.replaceAll('"', '""')}"`);
    } catch (error) {
      // A statement without a result is done, and thrown for without a word.
      if ((error as Error).message !== "") throw error;
    }
  }
  dataset.close();
}
