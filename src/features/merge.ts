import type { LayerNode } from "../catalog/state.js";
import { failed, notFound, preconditionFailed } from "../errors.js";
import { maxPositions } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { lacksHeightSql, shapeFailed, validSql } from "./shape-sql.js";
import { layerTable, Values } from "./sql.js";
import { saveFailed } from "./statement-failure.js";
import { versionCondition } from "./version.js";

/** Merges objects into the first of them, in one transaction: it gets the geometry of all, and the others are deleted. */

export interface MergeRequest {
  /** At least two different ones. The first stays, with its values and files. */
  readonly ids: readonly number[];
  /** Versions of the first object with which it may be merged (If-Match); undefined = any. */
  readonly versions?: readonly string[] | undefined;
}

export interface Merged {
  /** Id of the transaction, for `Changes.propagate`. */
  readonly receipt: string;
}

/** Most objects that are merged at once. */
export const mostMerged = 1_000;

/**
 * @throws Failure not_found, of the first id that there is not; precondition_failed when the first object has none of the versions;
 *   invalid_value for geometries of several dimensions, and those that are too large together
 */
export function mergeObjects(db: Database, layer: LayerNode, request: MergeRequest): Promise<Merged> {
  return db.transaction(async (tx) => {
    await lockObjects(tx, layer, request);
    await requireOneDimension(tx, layer, request.ids);
    await unite(tx, layer, request.ids);
    await tx.execute(`delete from ${layerTable(layer.id)} where svc_id = any($1::bigint[])`, [
      arrayOf(request.ids.slice(1)),
    ]);
    const [row] = await tx.query<{ r: string }>("select pg_current_xact_id()::text as r");
    return { receipt: row!.r };
  });
}

const arrayOf = (ids: readonly number[]): string => `{${ids.join(",")}}`;

/** In the order of their ids, as all who lock several. */
async function lockObjects(tx: Queryable, layer: LayerNode, { ids, versions }: MergeRequest): Promise<void> {
  const table = layerTable(layer.id);
  const rows = await tx.query<{ id: number }>(
    `select svc_id as id from ${table} where svc_id = any($1::bigint[]) order by svc_id for update`,
    [arrayOf(ids)],
  );
  const there = new Set(rows.map(({ id }) => id));
  const missing = ids.find((id) => !there.has(id));
  if (missing !== undefined) throw notFound(`object ${missing}`);
  if (versions === undefined) return;
  const [first] = ids;
  const values = new Values();
  const key = values.bind(first);
  const same = await tx.query(
    `select from ${table} where svc_id = ${key}::bigint${versionCondition(layer, versions, values)}`,
    values.list,
  );
  if (same.length === 0) throw preconditionFailed(`The object ${first} has changed since.`);
}

async function requireOneDimension(tx: Queryable, layer: LayerNode, ids: readonly number[]): Promise<void> {
  const [found] = await tx.query<{ dimensions: number; mixed: boolean; positions: number }>(
    `select count(distinct st_dimension(geom))::int as dimensions,
       coalesce(sum(st_npoints(geom)), 0)::float8 as positions,
       coalesce(bool_or(st_geometrytype(geom) = 'ST_GeometryCollection'), false) as mixed
     from ${layerTable(layer.id)} where svc_id = any($1::bigint[])`,
    [arrayOf(ids)],
  );
  if (found!.mixed || found!.dimensions > 1)
    throw refused("Points, lines and areas cannot be merged with each other, nor collections of them.");
  // Before PostGIS reads them all.
  if (found!.positions > maxPositions) throw tooLarge();
}

const tooLarge = () => refused(`Together the geometries have more than ${maxPositions} positions.`);

const refused = (message: string) => failed("invalid_value", message, { parameter: "ids" });

/** Gives the first object the geometry of all; without any geometry it stays without. */
async function unite(tx: Queryable, layer: LayerNode, ids: readonly number[]): Promise<void> {
  const table = layerTable(layer.id);
  const rows = await tx
    .query<{ positions: number }>(
      `with shapes as materialized (
         select ${validSql("geom")} as g from ${table} where svc_id = any($2::bigint[]) and not st_isempty(geom)),
       united as materialized (
         select case when st_dimension(g) = 1 then st_linemerge(g) else g end as g from (select st_union(g) as g from shapes) u),
       typed as materialized (
         select case when ${lacksHeightSql("g")} then st_force2d(g) else g end as g from united where g is not null)
       update ${table} o set geom = case when st_geometrytype(o.geom) like 'ST_Multi%' then st_multi(typed.g) else typed.g end
       from typed where o.svc_id = $1::bigint returning st_npoints(o.geom) as positions`,
      [ids[0], arrayOf(ids)],
    )
    .catch(shapeFailed)
    .catch(saveFailed);
  // Where edges cross, it gets new ones.
  if ((rows[0]?.positions ?? 0) > maxPositions) throw tooLarge();
}
