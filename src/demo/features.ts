import { randomUUID } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Feature } from "geojson";
import { type ImportDependencies, importIntoLayer } from "../import/import-layer.js";
import type { Imported, ImportTarget } from "../import/import-request.js";

/** Imports data that come with the program, in the same way as users' files. */

export type LoadDependencies = ImportDependencies;

/** A feature that may lack its geometry: a merge then keeps that of the object. */
export type Row = Pick<Feature, "type" | "properties"> & Partial<Pick<Feature, "geometry">>;

export const row = (properties: Feature["properties"], geometry?: Feature["geometry"]): Row =>
  geometry ? { type: "Feature", properties, geometry } : { type: "Feature", properties };

const batch = 1000;

/** Imports features into a layer through a temporary file. */
export async function importRows(
  deps: LoadDependencies,
  target: ImportTarget,
  rows: Iterable<Row>,
): Promise<Imported> {
  const folder = resolve(deps.config.dataDir, "tmp");
  const path = join(folder, `${randomUUID()}.geojsonl`);
  await mkdir(folder, { recursive: true });
  try {
    const file = await open(path, "wx", 0o600);
    try {
      let lines: string[] = [];
      for (const one of rows) {
        lines.push(JSON.stringify(one));
        if (lines.length < batch) continue;
        await file.write(`${lines.join("\n")}\n`);
        lines = [];
      }
      await file.write(lines.join("\n"));
    } finally {
      await file.close();
    }
    return await importIntoLayer(deps, target, {
      files: [{ path, name: "features.geojsonl" }],
      action: "merge",
    });
  } finally {
    await rm(path, { force: true });
  }
}
