import { failed, notFound } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { checkCode } from "./codes.js";

/** The tree of a map's nodes (folders and layers): parents, order and codes. */

/** Nesting depth of folders, and of elements of a publication tree. */
export const maxDepth = 50;

/** Folders and layers of one map. */
export const maxNodes = 10_000;

/** Id of the hidden project that deleted maps, folders and layers belong to until they are removed (015_deletion.sql). */
export const deletedProject = 0;
/** Id of the hidden project of what is in the bin (062_bin.sql). */
export const binProject = -1;
/** SQL of whether a map `m` is neither deleted nor in the bin. */
export const isLiveSql = "m.project_id > 0";
/** Id of the hidden layer that deleted columns belong to. */
export const binLayer = 0;

/**
 * Locks the map's row until the transaction ends: writers of its tree run one after the other.
 * @throws Failure not_found when the map was deleted
 */
export async function lockMap(tx: Queryable, mapId: number): Promise<void> {
  const rows = await tx.query(`select id from map m where id = $1 and ${isLiveSql} for update`, [mapId]);
  if (rows.length === 0) throw notFound("map of that code");
}

/**
 * Must be called before a folder or layer is added, with the map's row locked.
 * @param from a map of the bin, all of which is added; undefined = one is
 * @throws Failure invalid_value when the map has as many as it can have
 */
export async function requireRoom(tx: Queryable, mapId: number, from?: number): Promise<void> {
  const [row] = await tx.query<{ nodes: number; added: number }>(
    `select count(*) filter (where map_id = $1)::int as nodes, count(*) filter (where map_id = $2)::int as added
     from node where map_id in ($1, $2)`,
    [mapId, from ?? null],
  );
  if (row!.nodes + (from === undefined ? 1 : row!.added) > maxNodes)
    throw failed("invalid_value", `A map has at most ${maxNodes} folders and layers.`);
}

/** Error for a change of a layer that others are derived from. @param codes of the derived layers */
export const dependedOn = (codes: readonly string[]) =>
  failed(
    "invalid_value",
    `Layers are made from this one: ${codes.join(", ")}. Change or delete them first.`,
    {
      layers: codes,
    },
  );

/** Ids of a folder and all nodes in it; `layer` = it is a layer of any type. */
export function nodesUnder(tx: Queryable, folderId: number): Promise<{ id: number; layer: boolean }[]> {
  return tx.query(
    `with recursive under as (
       select id, type from node where id = $1
       union select n.id, n.type from node n join under on n.parent_id = under.id)
     select id, type <> 'folder' as layer from under`,
    [folderId],
  );
}

export const nextContainerId = async (tx: Queryable): Promise<number> =>
  (await tx.query<{ id: number }>("select nextval('container_id') as id"))[0]!.id;

/**
 * Checks the parent of a node in a request.
 * @param parentId id of the map or 0 (= directly in the map), or of a folder of the same map
 * @param nodeId the node that is moved: it cannot be moved into itself
 * @returns the value of `node.parent_id`; null for the map
 * @throws Failure not_found; invalid_value when folders would be nested too deeply
 */
export async function checkParent(
  tx: Queryable,
  mapId: number,
  parentId: number,
  nodeId?: number,
): Promise<number | null> {
  if (parentId === 0 || parentId === mapId) return null;
  const [row] = await tx.query<{ own: boolean; depth: number }>(
    `with recursive up as (
       select id, parent_id from node where id = $2 and map_id = $1 and type = 'folder'
       union select n.id, n.parent_id from node n join up on n.id = up.parent_id),
     down as (
       select id, 0 as height from node where id = $3 and type = 'folder'
       union all select n.id, height + 1 from node n join down on n.parent_id = down.id
         where n.type = 'folder' and height < ${maxDepth})
     select bool_or(id = $3) as own, count(*) + coalesce((select max(height) from down), 0) as depth
     from up having count(*) > 0`,
    [mapId, parentId, nodeId ?? 0],
  );
  if (!row || row.own) throw notFound(`parent with id ${parentId} in this map`);
  if (row.depth >= maxDepth)
    throw failed("invalid_value", `Folders can be nested at most ${maxDepth} levels deep.`);
  return parentId;
}

/**
 * The code for a node: the requested one, or (undefined) one generated from the node's id. Folders and layers have separate
 * namespaces.
 * @throws Failure invalid_code, code_exists
 */
export async function chooseCode(
  tx: Queryable,
  mapId: number,
  node: { readonly id: number; readonly kind: "folder" | "layer" },
  wanted: string | undefined,
): Promise<string> {
  const taken = async (code: string) =>
    (
      await tx.query(
        "select 1 from node where map_id = $1 and (type = 'folder') = $2 and code = $3 and id <> $4",
        [mapId, node.kind === "folder", code, node.id],
      )
    ).length > 0;
  if (wanted !== undefined) {
    if (await taken(checkCode(wanted)))
      throw failed("code_exists", `There is a ${node.kind} "${wanted}" already.`);
    return wanted;
  }
  const base = `${node.kind === "folder" ? "f" : "l"}${node.id.toString(36)}`;
  let code = base;
  for (let i = 2; await taken(code); i++) code = `${base}-${i}`;
  return code;
}

/** Sort value after all children of a parent (null = the map). */
export async function nextSort(tx: Queryable, mapId: number, parentId: number | null): Promise<number> {
  const [row] = await tx.query<{ sort: number }>(
    "select coalesce(max(sort), 0) + 1 as sort from node where map_id = $1 and parent_id is not distinct from $2",
    [mapId, parentId],
  );
  return row!.sort;
}

/**
 * Moves a node to position `sort` among its parent's children and renumbers them 1..n. An integer is the position
 * afterwards; a fraction is a position between the current sort values of the others.
 */
export async function placeNode(
  tx: Queryable,
  mapId: number,
  node: { readonly id: number; readonly parentId: number | null },
  sort: number,
): Promise<void> {
  const others = await tx.query<{ id: number; sort: number }>(
    `select id, sort from node where map_id = $1 and parent_id is not distinct from $2 and id <> $3
     order by sort, id`,
    [mapId, node.parentId, node.id],
  );
  const whole = Number.isInteger(sort);
  const found = others.findIndex((other, i) => (whole ? i + 1 : other.sort) >= sort);
  const at = found === -1 ? others.length : found;
  const order = others.map((other) => other.id);
  order.splice(at, 0, node.id);
  // The history tells of that one, not of those beside it.
  await tx.execute(
    `with placed as materialized (select set_config('mapwright.placed', $2, true))
     update node set sort = wanted.place
     from placed, unnest($1::bigint[]) with ordinality wanted (id, place) where node.id = wanted.id and sort <> place`,
    [order, String(node.id)],
  );
}
