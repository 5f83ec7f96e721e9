import { join } from "node:path";
import { requireOurs } from "../catalog/installation.js";
import type { Config } from "../config.js";
import { busy, causedBy, failed, isDiskFull, noRoomText } from "../errors.js";
import type { ImportResponse } from "../hosts/import-messages.js";
import type { TransferHost } from "../hosts/transfer.js";
import type { Log } from "../log.js";
import { type BlobSettings, openBlobs } from "../storage/open-blobs.js";
import type { Database } from "../storage/postgres.js";
import { S3Failure } from "../storage/s3-failure.js";
import { type ImportFolder, makeImportFolder } from "./import-folder.js";
import type { Imported, ImportOptions, ImportSource, ImportTarget } from "./import-request.js";
import { lockStaging, type StagingLock } from "./staging.js";
import { requireRasterTarget, requireVectorTarget, writeRaster } from "./write-raster.js";
import { writeStaged } from "./write-staged.js";

/** Imports a file of geodata into a layer, completely or not at all. */

export interface ImportDependencies {
  readonly db: Database;
  readonly transfer: Pick<TransferHost, "import" | "takeSlot">;
  readonly log: Log;
  readonly config: Pick<Config, "transfer"> & BlobSettings;
}

/**
 * Reads the file in the transfer host and writes its features to the layer in one transaction. Readers see the old state
 * until it commits; if anything fails, the layer is unchanged.
 * @throws Failure import_failed, unsupported_format, invalid_geometry, no_georeference, constraint_violated; busy; not_found
 *   when the layer is gone; forbidden when columns would be added or get another type and `mayChangeColumns` is false
 */
export async function importIntoLayer(
  deps: ImportDependencies,
  target: ImportTarget,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<Imported> {
  const leave = deps.transfer.takeSlot(ownerOf(target), accountOf(target));
  try {
    return await importFiles(deps, { target, source, options });
  } catch (error) {
    if (error instanceof S3Failure) {
      deps.log.error({ err: error, layer: target.layerId }, "the image of an import could not be stored");
      throw causedBy(busy("The store of files cannot be used just now."), error);
    }
    if (!isDiskFull(error)) throw error;
    deps.log.error({ err: error, layer: target.layerId }, "an import found no room");
    throw causedBy(failed("import_failed", noRoomText), error);
  } finally {
    leave();
  }
}

const ownerOf = ({ projectId }: ImportTarget): string | undefined =>
  projectId === undefined ? undefined : `project ${projectId}`;

const accountOf = ({ accountId }: ImportTarget): string => String(accountId ?? "");

interface ImportTask {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  readonly options: ImportOptions;
}

async function importFiles(
  deps: ImportDependencies,
  { target, source, options: given }: ImportTask,
): Promise<Imported> {
  const started = performance.now();
  const folder = await makeImportFolder(join(deps.config.dataDir, "tmp"), source.files);
  const lock = await lockStaging(deps.db.apart).catch(async (error) => {
    await folder.remove();
    throw error;
  });
  const signal = given.signal ? AbortSignal.any([given.signal, lock.lost]) : lock.lost;
  const options = { ...given, signal };
  try {
    if (folder.content === "image") await requireRasterTarget(deps.db, target.layerId, options);
    if (folder.content === "features") await requireVectorTarget(deps.db, target.layerId);
    const file = await stage(deps, lock, { target, source, folder, options });
    options.onProgress?.({ phase: "checking", rows: file.raster ? 0 : file.rows });
    await lock.lockLayer(target.layerId, signal);
    if (!file.raster) await requireVectorTarget(deps.db, target.layerId);
    const imported = file.raster
      ? await writeImage(deps, { target, source, file, folder, options })
      : await writeStaged(deps.db, {
          target,
          source,
          table: lock.table,
          file,
          options,
          timeoutMs: deps.config.transfer.deadlineMs,
        });
    deps.log.info(
      {
        layer: target.layerId,
        rows: imported.rows,
        vertices: imported.vertices,
        ms: Math.round(performance.now() - started),
      },
      "imported",
    );
    return imported;
  } finally {
    await folder.remove();
    // Until the commit the next import of the layer must wait, and the staging table cannot be dropped.
    await deps.db.afterwards(() => lock.release());
  }
}

async function writeImage(
  { db, log, config }: ImportDependencies,
  task: Parameters<typeof writeRaster>[1],
): Promise<Imported> {
  const blobs = await openBlobs(config);
  await requireOurs(db, blobs);
  return writeRaster({ db, log, blobs }, task);
}

interface Staging {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  readonly folder: ImportFolder;
  readonly options: ImportOptions;
}

/** Reads features into the staging table, and images into the folder. @throws Failure as the transfer host reports it */
async function stage(
  deps: ImportDependencies,
  lock: StagingLock,
  { target, source, folder, options: { signal, onProgress } }: Staging,
): Promise<Extract<ImportResponse, { ok: true }>> {
  const { srs, encoding, table, oneTable = false, coordinates, rasterBox, partial = false } = source;
  const { unpackedBytes, rasterBytes } = deps.config.transfer;
  const response = await deps.transfer.import(
    {
      folder: folder.path,
      files: folder.files,
      clientNames: folder.clientNames,
      isOneTable: oneTable,
      ...deps.db.address,
      stagingTable: lock.table,
      maxUnpackedBytes: unpackedBytes,
      maxRasterBytes: rasterBytes,
      partial,
      ...(rasterBox ? { rasterBox } : {}),
      ...(coordinates ? { coordinates } : {}),
      ...(srs === undefined || srs === "" ? {} : { srs }),
      ...(encoding === undefined || encoding === "" ? {} : { encoding }),
      ...(table === undefined || table === "" ? {} : { table }),
    },
    {
      signal,
      owner: ownerOf(target),
      account: accountOf(target),
      onProgress: onProgress && (({ rows }) => onProgress({ phase: "reading", rows })),
    },
  );
  if (!response.ok) {
    const { code, error, data = {} } = response;
    throw code === "busy" ? busy(error) : failed(code, error, data);
  }
  return { ...response, notes: [...folder.notes, ...response.notes] };
}
