import { rmSync } from "node:fs";
import { describedLayer } from "./described-layer.js";
import { openVector } from "./gdal.js";
import { fileEncoding } from "./gdal-encoding.js";
import { isBlankSheet } from "./gdal-table.js";
import type { FindTables, OwnTable } from "./reader.js";

/** Finds the layers of files that GDAL reads. */

/** The table in which QGIS keeps styles in a GeoPackage. */
const styleTable = "layer_styles";

export const findGdalTables =
  (driver: string): FindTables =>
  async ({ path, encoding }) => {
    const dataset = openVector(path, driver, encoding ?? fileEncoding(driver, path));
    try {
      const layers = [...dataset.layers];
      // Of some formats the whole file is read to count them: a file of one table is read anyhow.
      const count = (layer: (typeof layers)[number]) =>
        layers.length > 1 && { features: isBlankSheet(dataset, layer) ? 0 : layer.features.count() };
      return layers
        .map((layer, place): OwnTable => {
          const { name, geometry } = describedLayer(dataset, layer);
          return { name, place, ...count(layer), ...(geometry !== undefined && { geometry }) };
        })
        .filter(({ name }) => driver !== "GPKG" || name !== styleTable);
    } finally {
      dataset.close();
      // The reader makes its own, from the file as it finds it.
      if (driver === "GML") rmSync(path.replace(/\w+$/, "gfs"), { force: true });
    }
  };
