import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { becomeRaster, requireEmptyOrRaster } from "../catalog/become-raster.js";
import { setRaster, unusedRasterBlobs } from "../catalog/rasters.js";
import type { NodeType, RasterImage } from "../catalog/state.js";
import { lockMap } from "../catalog/tree.js";
import { busy, Failure, failed, notFound } from "../errors.js";
import type { RasterImported } from "../hosts/import-messages.js";
import type { Log } from "../log.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { ImportFolder } from "./import-folder.js";
import type { Imported, ImportOptions, ImportSource, ImportTarget } from "./import-request.js";

/**
 * Writes an imported image to its layer: its blobs first, then its row. Until that is committed the layer has the image from
 * before, whose blobs are deleted afterwards. After a crash in between, blobs that no row has are deleted by `file-sweep.ts`.
 */

export interface RasterDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly log: Log;
}

interface RasterImport {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  readonly file: RasterImported;
  readonly folder: ImportFolder;
  readonly options: ImportOptions;
}

/** Checked before the image is read. @throws Failure as `writeRaster` */
export async function requireRasterTarget(
  db: Queryable,
  layerId: number,
  { mayChangeColumns }: ImportOptions,
): Promise<void> {
  if ((await requireEmptyOrRaster(db, layerId)) === "layer" && mayChangeColumns === false)
    throw new Failure("forbidden", undefined, "Your rights do not allow to make it a raster layer.");
}

/** Checked before features are read. @throws Failure not_found, import_failed */
export async function requireVectorTarget(db: Queryable, layerId: number): Promise<void> {
  const [layer] = await db.query<{ type: NodeType }>("select type from node where id = $1", [layerId]);
  if (!layer) throw notFound("layer of that code");
  if (layer.type === "raster")
    throw failed("import_failed", "The layer holds an image: import vector data into another layer.");
}

/** A change of the table that waits blocks all reads after it. */
const lockTimeoutMs = 5_000;

/** @throws Failure not_found, import_failed, invalid_value, forbidden, busy */
export async function writeRaster(deps: RasterDependencies, task: RasterImport): Promise<Imported> {
  const { target, source, file, folder, options } = task;
  const { layerId } = target;
  const { db, blobs } = deps;
  await requireRasterTarget(db, layerId, options);
  if (source.dryRun) return report(file, "would be imported");
  const written: string[] = [];
  /** What nothing names when the transaction has ended. */
  let left: readonly string[] = [];
  try {
    const { original, processed, drawn, box } = file.raster;
    const paths = [original.file, processed, ...(drawn === undefined ? [] : [drawn])].map((name) =>
      join(folder.path, name),
    );
    const [originalBytes, processedBytes] = await Promise.all(
      paths.map(async (path) => (await stat(path)).size),
    );
    // A copy: the file may be the user's own. The images that were made of it are moved.
    written.push(await blobs.put(createReadStream(paths[0]!)));
    for (const path of paths.slice(1)) written.push(await blobs.put(path));
    const [west, south, east, north] = box;
    const image: RasterImage = {
      ...file.raster,
      original: written[0]!,
      originalFormat: original.format,
      originalBytes: originalBytes!,
      processed: written[1]!,
      processedBytes: processedBytes!,
      drawn: written.at(-1)!,
      box: { west, south, east, north },
    };
    options.signal?.throwIfAborted();
    const imported = report(file, "imported");
    left = await db.transaction(async (tx) => {
      // First: it may bring the layer into its map.
      await options.onWritten?.(tx, imported);
      return write(tx, layerId, image);
    });
    return imported;
  } catch (error) {
    // A commit that waits for a standby is seen later.
    if (!(error instanceof Failure && error.code === "outcome_unknown")) left = written;
    throw translated(error);
  } finally {
    await db.afterwards(() => removeUnused(deps, left));
  }
}

function report({ raster, notes }: RasterImported, what: string): Imported {
  const { width, height, bands } = raster;
  return {
    rows: 0,
    vertices: 0,
    inserted: 0,
    updated: 0,
    removed: 0,
    columns: [],
    written: [],
    retyped: [],
    unmatched: { count: 0, first: [] },
    bad: { count: 0, rows: [] },
    raster: { width, height, bands },
    summary: `An image of ${width} × ${height} pixels ${what}.`,
    notes,
  };
}

/** @returns keys of the blobs of the image before */
async function write(tx: Queryable, layerId: number, image: RasterImage): Promise<string[]> {
  await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
  const [node] = await tx.query<{ map: number }>("select map_id as map from node where id = $1", [layerId]);
  if (!node) throw notFound("layer of that code");
  await lockMap(tx, node.map);
  await becomeRaster(tx, layerId);
  const before = await setRaster(tx, layerId, image);
  // The whole layer has changed; a trigger gives it a new version.
  await tx.execute("insert into layer_touch (layer_id, area) values ($1, null)", [layerId]);
  return before;
}

function translated(error: unknown): unknown {
  if (error instanceof Failure) return error;
  switch ((error as { code?: string }).code) {
    case "55P03": // lock_not_available
    case "40P01": // deadlock_detected
      return busy("The layer is in use by long reads, so it cannot become a raster layer now.", 5);
    case "42P01": // undefined_table: the layer was just deleted
      return notFound("layer of that code");
    default:
      return error;
  }
}

/**
 * Sets those of the blobs aside that no layer has: of an import that was undone its own, else those that the layer had before. What
 * cannot be known now is left to the sweep. Never throws.
 */
async function removeUnused({ db, blobs, log }: RasterDependencies, keys: readonly string[]): Promise<void> {
  try {
    for (const key of await unusedRasterBlobs(db.apart, keys)) await blobs.setAside(key);
  } catch (error) {
    log.warn({ err: error }, "blobs of an image could not be deleted; they will be later");
  }
}
