import { readColumns } from "../catalog/column-rows.js";
import { addPhysical, maxColumns, type NewColumn } from "../catalog/columns.js";
import { layerTable, physicalName } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import { Failure, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";

/**
 * New columns of an import, in two steps. ALTER TABLE blocks readers until its transaction ends, and the transaction that
 * inserts the objects is long. So the physical columns are added before, in a short transaction of their own, and the
 * rows of the catalogue are inserted in the transaction that fills the columns.
 */

/** While ALTER TABLE waits for a long query, it blocks all later queries: it gives up soon and retries. */
const lockTimeoutMs = 2_000;
const attempts = 10;

/** @throws Failure import_failed when the layer would have too many columns */
export function requireRoom(existing: readonly Column[], requested: readonly NewColumn[]): void {
  // svc_id and geom are not custom columns.
  if (existing.length - 2 + requested.length > maxColumns) {
    throw failed("import_failed", `The layer would have more than ${maxColumns} columns.`, {
      limit: maxColumns,
    });
  }
}

/** @throws Failure import_failed when the columns are no longer `existing`; not_found when the layer was deleted */
export async function requireSameColumns(
  tx: Queryable,
  layerId: number,
  existing: readonly Column[],
): Promise<void> {
  const columns = await readColumns(tx, layerId);
  if (columns.length === 0) throw notFound("layer of that code");
  if (JSON.stringify(columns) !== JSON.stringify(existing)) {
    throw failed("import_failed", "The layer's columns were changed during the import.");
  }
}

/** The new columns, with ids of their own; nothing is stored of them yet. */
export async function newColumns(
  db: Queryable,
  existing: readonly Column[],
  requested: readonly NewColumn[],
): Promise<Column[]> {
  if (requested.length === 0) return [];
  const ids = await db.query<{ id: number }>(
    "select nextval(pg_get_serial_sequence('mapwright.layer_column', 'id')) as id from generate_series(1, $1)",
    [requested.length],
  );
  const last = existing.reduce((highest, column) => Math.max(highest, column.sort), 0);
  return requested.map((column, place): Column => {
    const id = ids[place]!.id;
    return {
      id,
      code: column.code,
      physical: physicalName(column.type, column.code, id),
      type: column.type,
      ...(column.name ?? { name: "", localized: false, names: {} }),
      required: false,
      localizedValue: false,
      sort: last + 1 + place,
      parentId: null,
      format: null,
    };
  });
}

/**
 * Adds the physical columns, which are not in the catalogue yet.
 * @throws Failure import_failed when the table has no room for them; the lock timeout error of PostgreSQL when it stays
 *   locked
 */
export async function reserveColumns(
  db: Database,
  layerId: number,
  columns: readonly Column[],
): Promise<void> {
  if (columns.length > 0) await alter(db, (tx) => addPhysical(tx, layerId, columns));
}

/** Inserts reserved columns into the catalogue. */
export async function registerColumns(
  tx: Queryable,
  layerId: number,
  columns: readonly Column[],
): Promise<void> {
  if (columns.length === 0) return;
  await tx.execute(
    `insert into layer_column (id, layer_id, code, type, name, sort) overriding system value
     select (c->>'id')::int, $1, c->>'code', c->>'type', c->>'name', (c->>'sort')::float8
     from jsonb_array_elements($2::jsonb) c`,
    [layerId, JSON.stringify(columns)],
  );
}

/**
 * Drops reserved columns after a failed import, but those that the catalogue has: its commit may have been done, and only the answer lost.
 * Never throws: columns that remain are dropped at the next start.
 */
export async function dropReserved(db: Database, layerId: number, columns: readonly Column[]): Promise<void> {
  if (columns.length === 0) return;
  const table = layerTable(layerId);
  await alter(db, async (tx) => {
    // First: a commit that is not seen yet holds the table.
    await tx.execute(`lock table ${table} in access exclusive mode`);
    const rows = await tx.query<{ id: number }>("select id from layer_column where id = any($1::bigint[])", [
      columns.map(({ id }) => id),
    ]);
    const kept = new Set(rows.map(({ id }) => id));
    const clauses = columns
      .filter(({ id }) => !kept.has(id))
      .map(({ physical }) => `drop column if exists ${physical}`);
    if (clauses.length > 0) await tx.execute(`alter table ${table} ${clauses.join(", ")}`);
  }).catch(() => undefined);
}

async function alter(db: Database, change: (tx: Queryable) => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(async (tx) => {
        await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
        // `addPhysical` may have to rewrite the table.
        await tx.execute("set local statement_timeout = '10min'");
        await change(tx);
      });
    } catch (error) {
      if (error instanceof Failure) throw failed("import_failed", error.message, error.data);
      const code = (error as { code?: string }).code;
      // 2BP01 dependent_objects_still_exist: the table has views, so it cannot be rewritten
      if (code === "2BP01") throw failed("import_failed", "The layer's table has no room for more columns.");
      // 55P03 lock_not_available
      if (code !== "55P03" || attempt === attempts) throw error;
    }
  }
}
