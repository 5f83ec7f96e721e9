import type { Database } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

/** Below this estimate the objects are counted, which is then as fast. */
const exactCountThreshold = 10_000;

/**
 * Number of a layer's objects. The estimate is the row density at the last ANALYZE times the table's current size, for a
 * view the planner's row estimate; small estimates are replaced by an exact count.
 * @param precise always count
 */
export async function countObjects(
  db: Database,
  layerId: number,
  precise: boolean,
  signal: AbortSignal,
): Promise<number> {
  const table = layerTable(layerId);
  const exact = `(select count(*) from ${table})`;
  const estimate = `select case when e.rows >= ${exactCountThreshold} then e.rows else ${exact} end as n
    from pg_class c, lateral (select case
      when c.relkind = 'v' then planned_rows(${Math.trunc(layerId)})
      when c.relpages > 0 then (c.reltuples / c.relpages
        * (pg_relation_size(c.oid) / current_setting('block_size')::int))::bigint
      else 0 end as rows) e
    where c.oid = '${table}'::regclass`;
  const [row] = await db.query<{ n: number }>(precise ? `select ${exact} as n` : estimate, [], { signal });
  return row?.n ?? 0;
}
