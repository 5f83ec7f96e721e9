import type { ColumnType } from "../column-types/column-types.js";
import { notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { layerTable, physicalName } from "./layer-table.js";
import type { Column } from "./state.js";
import { lockMap } from "./tree.js";

/** Refreshes the objects of materialized layers from the view of their source. */

/** Longer than the usual statement timeout: filling a table takes a while. */
export const fillTimeoutMs = 600_000;

/**
 * Refreshes a materialized layer. Readers see the old objects until the transaction commits. Only objects that differ are
 * written, so that tiles elsewhere stay valid.
 * @throws Failure not_found when the layer was deleted
 */
export async function refreshMaterial(db: Database, mapId: number, layerId: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
    const columns = await lockForRefresh(tx, layerId);
    await synchronize(tx, layerId, columns);
  });
  // A transaction of its own: the map's row must be locked first, as in deletions of the layer, to avoid deadlocks.
  await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
    await lockMap(tx, mapId);
    const present = await tx.query("select 1 from layer where id = $1", [layerId]);
    if (present.length === 0) throw notFound("layer of that code");
    await tx.execute(
      `update layer l set geometry_kind = s.geometry_kind from layer s
       where l.id = $1 and s.id = l.source_id and s.geometry_kind <> l.geometry_kind`,
      [layerId],
    );
    await tx.query("select generalize_layer($1)", [layerId]);
  });
}

/** Allows one refresh at a time. The view is locked before the table, as in deletions of the layer, to avoid deadlocks. */
async function lockForRefresh(tx: Queryable, layerId: number): Promise<PhysicalColumn[]> {
  const table = layerTable(layerId);
  try {
    await tx.execute(`lock table ${table}_source in access share mode`);
    await tx.execute(`lock table ${table} in share row exclusive mode`);
  } catch (error) {
    // 42P01 undefined_table
    if ((error as { code?: string }).code === "42P01") throw notFound("layer of that code");
    throw error;
  }
  const rows = await tx.query<{ id: number; code: string; type: ColumnType }>(
    "select id, code, type from layer_column where layer_id = $1 and type not in ('title', 'geom') and code <> 'svc_id'",
    [layerId],
  );
  return rows.map(({ id, code, type }) => ({ physical: physicalName(type, code, id) }));
}

type PhysicalColumn = Pick<Column, "physical">;

/**
 * Makes the table equal to the view, in one statement, so from one snapshot of the source.
 * @param columns of the table, without svc_id and geom
 */
export async function synchronize(
  tx: Queryable,
  layerId: number,
  columns: readonly PhysicalColumn[],
): Promise<void> {
  const table = layerTable(layerId);
  // Its objects are those of its source, whose history tells of them.
  await tx.query("select set_config('mapwright.history', 'off', true)");
  const names = ["geom", ...columns.map(({ physical }) => physical)];
  const list = names.join(", ");
  const of = (alias: string) => `row(${names.map((name) => `${alias}.${name}`).join(", ")})`;
  await tx.execute(
    `with fresh as materialized (select svc_id, ${list} from ${table}_source),
       gone as (delete from ${table} t where not exists (select from fresh f where f.svc_id = t.svc_id)),
       changed as (update ${table} t set ${names.map((name) => `${name} = f.${name}`).join(", ")}
         from fresh f where f.svc_id = t.svc_id and ${of("t")} is distinct from ${of("f")})
     insert into ${table} (svc_id, ${list}) select svc_id, ${list} from fresh f
       where not exists (select from ${table} t where t.svc_id = f.svc_id)`,
  );
  await tx.execute(`analyze ${table}`);
}
