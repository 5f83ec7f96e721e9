import { createHiddenLayer, showLayer } from "../catalog/layers.js";
import { removePortion } from "../catalog/removal.js";
import { creationLock } from "../storage/advisory-locks.js";
import { type ImportDependencies, importIntoLayer } from "./import-layer.js";
import type { Imported, ImportOptions, ImportSource, ImportTarget } from "./import-request.js";
import { readableTitle } from "./layer-title.js";

/** Imports a file into a layer that does not exist yet. */

/** The map that gets the layer, and the layer's code. */
export interface NewLayerTarget extends Omit<ImportTarget, "layerId"> {
  readonly mapId: number;
  readonly code: string;
  /** The layer's name if the file does not tell what it calls its data; absent = none, and the code is shown. */
  readonly title?: string | undefined;
}

/**
 * Creates a layer with the objects of a file. The layer is hidden until it is complete, so that nothing is left of an
 * import that fails, or whose process is killed.
 * @throws Failure as `importIntoLayer`; invalid_code, code_exists
 */
export async function importIntoNewLayer(
  deps: ImportDependencies,
  { mapId, code, title, ...target }: NewLayerTarget,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<Imported & { readonly layerId: number }> {
  const { db } = deps;
  const session = await db.working();
  try {
    const layerId = await createHiddenLayer(db, mapId, { code }, (id) =>
      session.lock(creationLock("$1"), [id]),
    );
    const imported = await importIntoLayer(deps, { ...target, layerId }, source, {
      ...options,
      onWritten: async (tx, done) => {
        await options.onWritten?.(tx, done);
        const name = done.title === undefined ? title : readableTitle(done.title);
        await showLayer(tx, mapId, { id: layerId, code, name: name ?? "" });
      },
    });
    return { ...imported, layerId };
  } finally {
    await session.end();
    // What a failure or a dry run has left goes now, since no node may be running to remove it.
    await removePortion(db).catch(() => undefined);
  }
}
