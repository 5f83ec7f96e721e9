import type { Queryable } from "../storage/postgres.js";
import { deletedProject, dependedOn } from "./tree.js";

/**
 * The first step of a deletion: moves maps, folders and layers to a hidden project, in one short transaction without table
 * locks, whatever their size. From then on they cannot be found, and their codes are free. `removal.ts` deletes them.
 */

/** Moves maps out of their project and deletes grants on them and their layers, and jobs of these. The caller has locked their rows. */
export async function discardMaps(tx: Queryable, mapIds: readonly number[]): Promise<void> {
  await tx.execute("delete from access_grant where map_id = any($1::bigint[])", [mapIds]);
  await tx.execute(
    "delete from import_job where layer_id in (select id from node where map_id = any($1::bigint[]))",
    [mapIds],
  );
  await tx.execute(
    `update map set project_id = ${deletedProject}, code = id::text where id = any($1::bigint[])`,
    [mapIds],
  );
}

/**
 * Moves nodes out of their map and deletes grants and search settings of them. The caller has locked the map's row.
 * @param nodes ids of layers, and of folders with all nodes in them
 * @throws Failure invalid_value with `data.layers` when other layers are derived from one of these
 */
export async function discardNodes(tx: Queryable, nodes: readonly number[]): Promise<void> {
  const dependents = await tx.query<{ code: string }>(
    `select n.code from layer l join node n on n.id = l.id join map m on m.id = n.map_id
     where l.source_id = any($1::bigint[]) and l.id <> all($1::bigint[]) and m.project_id <> ${deletedProject}
     order by n.code`,
    [nodes],
  );
  if (dependents.length > 0) throw dependedOn(dependents.map(({ code }) => code));
  await tx.execute("delete from access_grant where layer_id = any($1::bigint[])", [nodes]);
  await tx.execute("delete from import_job where layer_id = any($1::bigint[])", [nodes]);
  await tx.execute("delete from search_setting where layer_id = any($1::bigint[])", [nodes]);
  await tx.execute(
    `with place as (
       insert into map (id, project_id, code)
       select id, ${deletedProject}, id::text from nextval('container_id') id returning id)
     update node set map_id = place.id, parent_id = case when parent_id = any($1::bigint[]) then parent_id end
     from place where node.id = any($1::bigint[])`,
    [nodes],
  );
}
