import { ensureBaseMap } from "../src/demo/base-map.js";
import type { LoadDependencies } from "../src/demo/features.js";

/** Has a base map that counts as loaded and has no objects: a server loads its own beside whatever else it does. */
export async function haveEmptyBaseMap(deps: LoadDependencies): Promise<void> {
  await ensureBaseMap(deps, () => undefined, []);
  await deps.db.execute(
    "update mapwright.layer set geometry_kind = 'Polygon' where geometry_kind = 'Unknown'",
  );
}
