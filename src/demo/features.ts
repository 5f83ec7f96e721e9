import { randomUUID } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Feature } from "geojson";
import { type ImportDependencies, importIntoLayer } from "../import/import-layer.js";
import type { Imported, ImportTarget } from "../import/import-request.js";
import { removeQuietly } from "../remove-quietly.js";

/** Imports data that come with the program, in the same way as users' files. */

export interface LoadDependencies extends ImportDependencies {
  /** Ends what is loaded. */
  readonly signal?: AbortSignal;
  /** Where translations of names of towns are; default: where the system has them. */
  readonly translations?: string;
  /** How many towns the demo has, of those that are shown first; default: all. */
  readonly demoTowns?: number;
}

export const row = (properties: Feature["properties"], geometry: Feature["geometry"]): Feature => ({
  type: "Feature",
  properties,
  geometry,
});

const batch = 1000;

/** Imports features into a layer. */
export const importRows = (
  deps: LoadDependencies,
  target: ImportTarget,
  rows: Iterable<Feature>,
): Promise<Imported> => importWritten(deps, target, (path) => writeRows(path, rows));

/** Imports a temporary file into a layer. @param write makes the file: GeoJSON, one feature a line */
export async function importWritten(
  deps: LoadDependencies,
  target: ImportTarget,
  write: (path: string) => Promise<void>,
): Promise<Imported> {
  const folder = resolve(deps.config.dataDir, "tmp");
  const path = join(folder, `${randomUUID()}.geojsonl`);
  await mkdir(folder, { recursive: true });
  try {
    await write(path);
    return await importIntoLayer(
      deps,
      target,
      { files: [{ path, name: "features.geojsonl" }], action: "merge" },
      deps.signal ? { signal: deps.signal } : {},
    );
  } finally {
    await removeQuietly(path);
  }
}

async function writeRows(path: string, rows: Iterable<Feature>): Promise<void> {
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
}
