import type { Database } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

/** Repairing a whole layer may take longer than a statement usually may. */
const timeoutMs = 600_000;

/**
 * Repairs the invalid geometries of a layer in one transaction; each stays of its dimension. A geometry that has
 * no valid part of its dimension (a polygon without any area) stays as it is.
 * @returns how many were repaired
 */
export function makeValid(db: Database, layerId: number): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${timeoutMs}`);
    return tx.execute(
      `update ${layerTable(layerId)} t set geom = mended.geom
       from (select svc_id, repaired(geom) as geom from ${layerTable(layerId)} where not st_isvalid(geom) offset 0) mended
       where t.svc_id = mended.svc_id and not st_isvalid(t.geom) and mended.geom is distinct from t.geom`,
    );
  });
}
