import type { Column } from "../catalog/state.js";
import type { Database } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

export interface Counting {
  /** Always count. */
  readonly precise: boolean;
  readonly signal: AbortSignal;
  /** Only objects that have a text. */
  readonly having?: {
    /** Whose value it is. */
    readonly column: Column;
    /** SQL of it. */
    readonly text: string;
    /** Bound in it. */
    readonly values: readonly unknown[];
  };
}

/** Below this estimate the objects are counted, which is then as fast. */
const exactCountThreshold = 10_000;

/**
 * Number of a layer's objects. The estimate is the row density at the last ANALYZE times the table's current size, for a
 * view the planner's row estimate; small estimates are replaced by an exact count.
 */
export async function countObjects(
  db: Database,
  layerId: number,
  { precise, signal, having }: Counting,
): Promise<number> {
  const table = layerTable(layerId);
  const only = having ? ` filter (where ${having.text} <> '')` : "";
  const exact = `(select count(*)${only} from ${table})`;
  const part = having
    ? ` * (1 - coalesce((select null_frac from pg_stats
        where schemaname = split_part('${table}', '.', 1)::name and tablename = split_part('${table}', '.', 2)::name
          and attname = '${having.column.physical}'), 0))`
    : "";
  const estimate = `select case when e.rows >= ${exactCountThreshold} then (e.rows${part})::bigint else ${exact} end as n
    from pg_class c, lateral (select case
      when c.relkind = 'v' then planned_rows(${Math.trunc(layerId)})
      when c.relpages > 0 then (c.reltuples / c.relpages
        * (pg_relation_size(c.oid) / current_setting('block_size')::int))::bigint
      else 0 end as rows) e
    where c.oid = '${table}'::regclass`;
  const [row] = await db.query<{ n: number }>(
    precise ? `select ${exact} as n` : estimate,
    having?.values ?? [],
    { signal },
  );
  return row?.n ?? 0;
}
