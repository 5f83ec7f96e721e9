import type { LayerNode } from "../catalog/state.js";
import { preconditionFailed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { layerTable, type Values } from "./sql.js";

/**
 * Version of an object: the id of the transaction that wrote the row, which changes with each committed write, and a token
 * of the database's history, because transaction ids are reused after a restore or a failover to a standby that lagged.
 * The rows of a view have no version.
 */

const versionOf = (token: string): string => `xmin::text || '.' || (${token})`;

/** SQL of a row's version, a text; null in a view. */
export const versionSql = (layer: LayerNode): string =>
  layer.type === "virtual" ? "null" : versionOf("select token from epoch");

/**
 * SQL of a version that is compared with one of a client. It is null after a failover or restore until the database has a
 * new history token: until then it still has the token of the lost history. The check costs about 50 µs.
 */
export const comparedVersionSql = (layer: LayerNode): string =>
  layer.type === "virtual"
    ? "null"
    : versionOf("select token from epoch where identity = database_identity()");

/**
 * SQL condition that limits a write to rows of these versions; undefined = any. It also holds when the write had to wait
 * for a concurrent one: PostgreSQL then evaluates the condition again on the updated row.
 */
export const versionCondition = (
  layer: LayerNode,
  versions: readonly string[] | undefined,
  values: Values,
): string =>
  versions === undefined ? "" : ` and ${comparedVersionSql(layer)} = any(${values.bind(versions)}::text[])`;

/**
 * For a write that affected no row: checks that the object does not exist.
 * @throws Failure precondition_failed when it exists, so that its version did not match
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
