import type { ColumnType } from "../column-types/column-types.js";
import { notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { layerTable, physicalName } from "./layer-table.js";
import type { Column } from "./state.js";
import { lockMap } from "./tree.js";

/** Objects of materialized layers: filled from the view of their source, and refreshed from it. */

/** Filling a table may take longer than a statement usually may. */
export const fillTimeoutMs = 600_000;

/**
 * Brings the objects of a materialized layer to what its source has now. Readers see the old ones until all is
 * done; only what differs is written, so that tiles of the rest stay good.
 * @throws Failure not_found when the layer is gone
 */
export async function refreshMaterial(db: Database, mapId: number, layerId: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
    const columns = await holdMaterial(tx, layerId);
    await synchronize(tx, layerId, columns);
  });
  // The map's row comes first here, as it does for whoever deletes the layer, and so after the objects' transaction.
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

/** One refresh at a time. The view comes before the table, as it does for whoever deletes the layer. */
async function holdMaterial(tx: Queryable, layerId: number): Promise<PhysicalColumn[]> {
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
 * Makes the table equal to the view, in one statement, so that all of it comes from one moment of the source.
 * @param columns those of the table beside svc_id and geom
 */
export async function synchronize(
  tx: Queryable,
  layerId: number,
  columns: readonly PhysicalColumn[],
): Promise<void> {
  const table = layerTable(layerId);
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
