import { constrainedColumns, rowViolates } from "../catalog/constraints.js";
import { layerTable } from "../catalog/layer-table.js";
import { emptySql, mustBeFilled } from "../catalog/required.js";
import { type Column, type ColumnConstraint, isId } from "../catalog/state.js";
import { failed } from "../errors.js";
import { reasonOf } from "../features/check-constraints.js";
import type { Queryable } from "../storage/postgres.js";
import { idSql } from "./check.js";

/** Checks required columns and constraints for the objects that an import has written, within its transaction. */

/** Statement timeout of the check, since regular expressions may be slow. */
const checkTimeoutMs = 60_000;

/** The layer and the staging table that it was written from. */
export interface WrittenObjects {
  readonly layerId: number;
  /** Name of the staging table, from `lockStaging`; used unquoted in SQL. */
  readonly staging: string;
  /** Index of the property with object ids. */
  readonly idIndex: number | undefined;
}

/**
 * @param columns the layer's
 * @throws Failure import_failed for a required column without a value, constraint_violated; both with
 *   `data.columns` = code → reason, `data.column` and `data.feature` (from 1)
 */
export async function enforceOnImport(
  tx: Queryable,
  written: WrittenObjects,
  columns: readonly Column[],
): Promise<void> {
  const { layerId } = written;
  const constraints = await readConstraints(tx, layerId);
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const required = columns
    .filter((column) => column.required && canBeEmpty(column))
    .map((column) => ({ column, constraint: undefined, sql: emptySql(column, `t.${column.physical}`) }));
  const constrained = constraints.flatMap((constraint) =>
    constrainedColumns({ columns }, constraint).map((column) => ({
      column,
      constraint,
      sql: rowViolates(constraint, column, bind),
    })),
  );
  const checks = [...required, ...constrained];
  if (checks.length === 0) return;
  const [bad] = await firstViolation(tx, layerId, { conditions: checks.map(({ sql }) => sql), values });
  if (!bad) return;
  const { column, constraint } = checks[bad.violated.indexOf(true)]!;
  const reason = constraint ? reasonOf(constraint) : mustBeFilled;
  const feature = await featureOf(tx, written, bad.id);
  throw failed(
    constraint ? "constraint_violated" : "import_failed",
    `Feature ${feature}: its value for column ${column.code} is not allowed. ${reason}`,
    { columns: { [column.code]: reason }, column: column.code, feature },
  );
}

/**
 * The number of the feature that an object was written from. Features with an id are found by it. The others got ids in the
 * order of the file, so the object's rank among them gives the feature.
 */
async function featureOf(
  tx: Queryable,
  { layerId, staging, idIndex }: WrittenObjects,
  objectId: number,
): Promise<number> {
  const id = idIndex === undefined ? "null::bigint" : idSql(idIndex);
  const [named] = await tx.query<{ row: number }>(
    `select row from staging.${staging} s where ${id} = $1 limit 1`,
    [objectId],
  );
  if (named) return named.row;
  const [counted] = await tx.query<{ row: number }>(
    `select row from staging.${staging} s where ${id} is null order by row offset (
       select count(*) from ${layerTable(layerId)} t where t.xmin = pg_current_xact_id()::xid and t.svc_id < $1
         and not exists (select from staging.${staging} s where ${id} = t.svc_id)) limit 1`,
    [objectId],
  );
  return counted!.row;
}

interface Conditions {
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
}

async function firstViolation(tx: Queryable, layerId: number, { conditions, values }: Conditions) {
  await tx.execute(`set local statement_timeout = ${checkTimeoutMs}`);
  try {
    // Only rows of this transaction were written by the import. `svc_id + 0` prevents the planner from using the index on
    // svc_id for the order: usually no object violates a check, and all have to be read.
    return await tx.query<{ id: number; violated: boolean[] }>(
      `select svc_id as id, violated from ${layerTable(layerId)} t, lateral (select array[${conditions.join(",")}] as violated) v
       where t.xmin = pg_current_xact_id()::xid and true = any(violated) order by svc_id + 0 limit 1`,
      values,
    );
  } catch (error) {
    // 57014 query_canceled
    if ((error as { code?: string }).code !== "57014") throw error;
    throw failed("constraint_violated", "Checking the objects of the file took too long.", { columns: {} });
  } finally {
    await tx.execute("set local statement_timeout = 0").catch(() => undefined);
  }
}

const readConstraints = (tx: Queryable, layerId: number) =>
  tx.query<ColumnConstraint>(
    `select id, type, name, column_ids as "columnIds", definition from column_constraint where layer_id = $1 order by sort`,
    [layerId],
  );

/** Title columns have no values, and the object id is never empty. */
const canBeEmpty = (column: Column): boolean => column.type !== "title" && !isId(column);
