import type { Database } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

/** Statement timeout for the repair of a whole layer. */
const timeoutMs = 600_000;

/**
 * Repairs the invalid geometries of a layer in one transaction; each keeps its dimension. A geometry without a valid
 * part of its dimension (a polygon without area) is not changed.
 * @returns the number of repaired geometries
 */
export function makeValid(db: Database, layerId: number): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${timeoutMs}`);
    return tx.execute(
      `update ${layerTable(layerId)} t set geom = fixed.geom
       from (select svc_id, repaired(geom) as geom from ${layerTable(layerId)} where not st_isvalid(geom) offset 0) fixed
       where t.svc_id = fixed.svc_id and not st_isvalid(t.geom) and fixed.geom is distinct from t.geom`,
    );
  });
}
