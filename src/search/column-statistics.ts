import { layerTable } from "../catalog/layer-table.js";
import type { Statement } from "../features/sql.js";
import { indexNames } from "./column-indexes.js";

/** Estimates of the amount of text in searched columns. */

/** Table and name of a column. */
export interface ColumnPlace {
  readonly layerId: number;
  /** Id of the column in the catalogue. */
  readonly id: number;
  readonly physical: string;
}

export interface ColumnStatistics {
  /** Whether both indexes of the column are complete. */
  readonly indexed: boolean;
  /** Whether the layer is a view, which has only the indexes of its source. */
  readonly virtual: boolean;
  /** Objects of the layer, or of a virtual layer's source, as the planner's statistics estimate them. */
  readonly rows: number;
  /**
   * Average size of its values relative to `usualBytes`, at least 1, from a sample of rows. (The planner's statistics
   * underestimate long values, because these are TOASTed.)
   */
  readonly weight: number;
}

/**
 * Minimum number of values (rows × weight) from which a column is indexed. For fewer, a sequential scan is cheaper than
 * maintaining an index.
 */
export const indexedValues = 2_000;

/** Size of a typical name. Longer values take longer to compare and get a higher weight. */
const usualBytes = 60;

const tablesSql = `
  select c.relkind = 'v' as virtual,
    coalesce(case when t.reltuples >= 0 then t.reltuples else pg_table_size(t.oid) / 150 end, 0) as rows,
    (select count(*) = 2 from pg_class s join pg_index i on i.indexrelid = s.oid and i.indisvalid
     where s.relnamespace = c.relnamespace and s.relname = any(array[e.words, e.exact])) as indexed
  from jsonb_to_recordset($1::jsonb) e (place int, layer text, words text, exact text)
  left join pg_class c on c.oid = to_regclass(e.layer)
  -- For a virtual layer, the table of its source.
  left join pg_class t on t.oid = case when c.relkind <> 'v' then c.oid else (
    select d.refobjid from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass
      and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
    where r.ev_class = c.oid limit 1) end
  order by place`;

/**
 * The statistics of these columns. A deleted layer has 0 rows; a weight that could not be read is 1.
 * @param query runs a statement; it may return undefined if that fails
 */
export async function readStatistics(
  columns: readonly ColumnPlace[],
  query: <Row extends object>(statement: Statement) => Promise<Row[] | undefined>,
): Promise<ColumnStatistics[]> {
  const places = columns.map(({ layerId, id }, place) => ({
    place,
    layer: layerTable(layerId),
    ...indexNames(id),
  }));
  const tables = await query<Omit<ColumnStatistics, "weight">>({
    text: tablesSql,
    values: [JSON.stringify(places)],
  });
  const weights = columns.map(
    ({ layerId, physical }) =>
      `(select greatest(1, coalesce(avg(pg_column_size(${physical})), 0)::float8 / ${usualBytes})
        from (select ${physical} from ${layerTable(layerId)} where ${physical} is not null limit 20) few)`,
  );
  const weightRows = await query<{ weights: number[] }>({
    text: `select array[${weights.join(",")}]::float8[] as weights`,
    values: [],
  });
  return columns.map((_, i) => {
    const table = tables?.[i] ?? { virtual: false, rows: 0, indexed: false };
    return { ...table, virtual: table.virtual === true, weight: weightRows?.[0]?.weights[i] ?? 1 };
  });
}
