/** Which columns have indexes of search, and what these are called. */

/**
 * From how much text on a column has indexes, in values of `usualBytes`: with less it is quicker looked through than
 * kept in an index.
 */
export const indexedValues = 2_000;

/** Bytes of a usual name. Longer values take longer to look at, and count as several. */
const usualBytes = 60;

/** @param columnId id of the column in the catalogue; migration 008 makes the same names */
export const indexNames = (columnId: number): { readonly words: string; readonly exact: string } => ({
  words: `s${columnId}_words`,
  exact: `s${columnId}_exact`,
});

/**
 * SQL of how many usual values one value of a column is, by a few of its rows. (The planner's statistics count a long
 * value as short when it is stored apart from its row.)
 * @param table the table; @param column physical name of the column
 */
export const weightSql = (table: string, column: string): string =>
  `(select greatest(1, coalesce(avg(pg_column_size(${column})), 0)::float8 / ${usualBytes})
    from (select ${column} from ${table} where ${column} is not null limit 20) few)`;

/** SQL of the number of rows of a table, estimated. @param relation SQL of its row of pg_class */
export const rowsSql = (relation: string): string =>
  `case when ${relation}.reltuples >= 0 then ${relation}.reltuples else pg_table_size(${relation}.oid) / 150 end`;
