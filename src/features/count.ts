import type { Database } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

/** Below this many objects, counting them is as quick as estimating. */
const countedRows = 10_000;

/**
 * Number of a layer's objects. The estimate takes the density of rows at the last ANALYZE times the table's size now, and
 * counts where that says little; of a view it takes what the planner expects; `precise` always counts, until `signal` aborts.
 */
export async function countObjects(
  db: Database,
  layerId: number,
  precise: boolean,
  signal: AbortSignal,
): Promise<number> {
  const table = layerTable(layerId);
  const exact = `(select count(*) from ${table})`;
  const estimate = `select case when e.rows >= ${countedRows} then e.rows else ${exact} end as n
    from pg_class c, lateral (select case
      when c.relkind = 'v' then planned_rows(${Math.trunc(layerId)})
      when c.relpages > 0 then (c.reltuples / c.relpages
        * (pg_relation_size(c.oid) / current_setting('block_size')::int))::bigint
      else 0 end as rows) e
    where c.oid = '${table}'::regclass`;
  const [row] = await db.query<{ n: number }>(precise ? `select ${exact} as n` : estimate, [], { signal });
  return row?.n ?? 0;
}
