import type { LayerNode } from "../catalog/state.js";
import { preconditionFailed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { layerTable, type Values } from "./sql.js";

/**
 * Which state of an object a row is. It is the transaction that wrote the row, whoever wrote it, so it changes with each
 * committed write; and the history of the database, since numbers of transactions are given out again after a failover to
 * a standby that lagged, or a restore. The rows of a view have no version.
 */

const versionOf = (token: string): string => `xmin::text || '.' || (${token})`;

/** SQL of a row's version, a text; null in a view. */
export const versionSql = (layer: LayerNode): string =>
  layer.type === "virtual" ? "null" : versionOf("select token from epoch");

/**
 * SQL of a version that is compared with one that a client has. It is null while the database has taken another's place
 * and nobody has given its history a name: until then that is called like the lost one. To find that out costs some 50 µs.
 */
export const comparedVersionSql = (layer: LayerNode): string =>
  layer.type === "virtual"
    ? "null"
    : versionOf("select token from epoch where identity = database_identity()");

/**
 * SQL that narrows a write to rows of these versions; undefined = any. A write that had to wait for another one is held
 * to it as well: PostgreSQL looks at the condition again with the row as it is then.
 */
export const versionCondition = (
  layer: LayerNode,
  versions: readonly string[] | undefined,
  values: Values,
): string =>
  versions === undefined ? "" : ` and ${comparedVersionSql(layer)} = any(${values.bind(versions)}::text[])`;

/**
 * For a write that met no row: tells whether it was for its version.
 * @throws Failure precondition_failed when there is such an object
 */
export async function requireAbsence(
  db: Queryable,
  layer: LayerNode,
  id: number,
  versions: readonly string[] | undefined,
): Promise<void> {
  if (versions === undefined) return;
  const rows = await db.query(`select from ${layerTable(layer.id)} where svc_id = $1::bigint`, [id]);
  if (rows.length > 0) throw preconditionFailed(`The object ${id} has changed since.`);
}
