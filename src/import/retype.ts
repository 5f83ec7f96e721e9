import { lockForAlter } from "../catalog/derived.js";
import { layerTable } from "../catalog/layer-table.js";
import { pruneStoredSettings } from "../catalog/prune-settings.js";
import type { Column } from "../catalog/state.js";
import { isText, isValueType, physicalType } from "../column-types/column-types.js";
import { busy, failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { lockTable } from "./filled-table.js";
import type { ImportSource } from "./import-request.js";
import type { Matched, Matching } from "./match.js";

/** Columns of a layer that an import gives another type, as all their values come from its file. */

export interface Retyping {
  readonly matching: Matching;
  /** All columns of the layer, with the types that they shall have. */
  readonly columns: readonly Column[];
  /** Those of them whose type changes. */
  readonly retyped: readonly Column[];
}

/** @throws Failure invalid_value for a column that keeps its type */
export function retypeMatched(
  matching: Matching,
  columns: readonly Column[],
  action: ImportSource["action"],
): Retyping {
  const changed = new Map<number, Column>();
  for (const { field, column } of matching.known) {
    if (field.wanted === undefined || field.wanted === column.type) continue;
    // One of one line takes all texts, too.
    if (action === "merge" && isText(column) && isText({ type: field.wanted })) continue;
    requireRetypable(column, action);
    changed.set(column.id, { ...column, type: field.wanted });
  }
  if (changed.size === 0) return { matching, columns, retyped: [] };
  const now = (column: Column): Column => changed.get(column.id) ?? column;
  const known = matching.known.map((one): Matched => ({ ...one, column: now(one.column) }));
  return { matching: { ...matching, known }, columns: columns.map(now), retyped: [...changed.values()] };
}

function requireRetypable({ code, type, localizedValue }: Column, action: ImportSource["action"]): void {
  const why =
    action === "merge"
      ? "a merge keeps the types that there are"
      : localizedValue
        ? "it has values in several languages"
        : type === "file"
          ? "it has files"
          : undefined;
  if (why === undefined) return;
  const message = `The layer's column ${code} has the type ${type}: ${why}.`;
  throw failed("invalid_value", message, { parameter: "columns", column: code });
}

export const inUse = "The layer is in use by long reads; its columns cannot change now.";

/**
 * Locks the map's row and the layer's table, whose columns are about to change.
 * @throws Failure invalid_value when derived layers use one of them; busy when somebody reads the table for long
 */
export async function lockForRetyping(
  tx: Queryable,
  layerId: number,
  retyped: readonly Column[],
): Promise<void> {
  if (retyped.length === 0) return;
  await tx.query("select lock_map_of($1)", [layerId]);
  if (!(await lockTable(tx, layerTable(layerId)))) throw busy(inUse, 5);
  for (const { physical } of retyped) await lockForAlter(tx, layerId, physical);
}

/** Changes the physical columns of the layer's table, which has no objects. */
export async function retypePhysical(
  tx: Queryable,
  layerId: number,
  retyped: readonly Column[],
): Promise<void> {
  const clauses = retyped.flatMap(({ type, physical }) => {
    if (!isValueType(type)) return [];
    const sqlType = physicalType(type, false);
    return [`alter ${physical} type ${sqlType} using null::${sqlType}`];
  });
  if (clauses.length > 0) await tx.execute(`alter table ${layerTable(layerId)} ${clauses.join(", ")}`);
}

/** Changes the columns in the catalogue. Their trigger takes the map's row, in which settings are pruned. */
export async function registerTypes(
  tx: Queryable,
  layerId: number,
  retyped: readonly Column[],
): Promise<void> {
  if (retyped.length === 0) return;
  await tx.execute(
    `update layer_column c set type = k.type from jsonb_to_recordset($2::jsonb) k (id int, type text)
     where c.id = k.id and c.layer_id = $1`,
    [layerId, JSON.stringify(retyped.map(({ id, type }) => ({ id, type })))],
  );
  await pruneStoredSettings(tx, layerId);
}
