import type { Queryable } from "../storage/postgres.js";
import { addToBin, type Deleter } from "./bin.js";
import { removeFromPublication } from "./publication.js";
import { binProject, deletedProject, dependedOn, isLiveSql } from "./tree.js";

/**
 * The first step of a deletion: moves maps, folders and layers to a hidden project, in one short transaction without table
 * locks, whatever their size. From then on they cannot be found, and their codes are free. `removal.ts` deletes them, or, of what
 * is kept, `bin-contents.ts` when its time is over.
 */

type Row = Readonly<Record<string, unknown>>;

const rows = async (tx: Queryable, statement: string, ids: readonly number[]): Promise<Row[]> =>
  (await tx.query<{ row: Row }>(`${statement} returning to_jsonb(gone) as row`, [ids])).map(({ row }) => row);

/**
 * Moves maps out of their project and deletes grants on them and their layers, and jobs of these. The caller has locked their rows.
 * @param by keeps them in the bin; undefined = they are removed
 */
export async function discardMaps(tx: Queryable, mapIds: readonly number[], by?: Deleter): Promise<void> {
  const grants = await rows(tx, "delete from access_grant gone where map_id = any($1::bigint[])", mapIds);
  await tx.execute(
    "delete from import_job where layer_id in (select id from node where map_id = any($1::bigint[]))",
    [mapIds],
  );
  if (by) {
    const maps = await tx.query<{ id: number; code: string; name: string }>(
      "select id, code, name from map where id = any($1::bigint[])",
      [mapIds],
    );
    for (const { id, code, name } of maps) {
      const kept = { grants: grants.filter((grant) => grant.map_id === id) };
      await addToBin(tx, { kind: "map", itemId: id, code, name, mapId: id, holderId: id, kept }, by);
    }
  }
  await tx.execute("update map set project_id = $2, code = id::text where id = any($1::bigint[])", [
    mapIds,
    by ? binProject : deletedProject,
  ]);
}

export interface Discarded {
  /** The folder or layer that is deleted. */
  readonly root: number;
  /** Ids of the layer, or of the folder and all nodes in it. */
  readonly nodes: readonly number[];
}

/**
 * Moves nodes out of their map and its publication tree, and deletes grants and search settings of them. The caller has locked the
 * map's row.
 * @param by keeps them in the bin; undefined = they are removed
 * @throws Failure invalid_value with `data.layers` when other layers are derived from one of these
 */
export async function discardNodes(
  tx: Queryable,
  mapId: number,
  { root, nodes }: Discarded,
  by?: Deleter,
): Promise<void> {
  const dependents = await tx.query<{ code: string }>(
    `select n.code from layer l join node n on n.id = l.id join map m on m.id = n.map_id
     where l.source_id = any($1::bigint[]) and l.id <> all($1::bigint[]) and ${isLiveSql}
     order by n.code`,
    [nodes],
  );
  if (dependents.length > 0) throw dependedOn(dependents.map(({ code }) => code));
  const publication = await removeFromPublication(tx, mapId, nodes);
  const grants = await rows(tx, "delete from access_grant gone where layer_id = any($1::bigint[])", nodes);
  await tx.execute("delete from import_job where layer_id = any($1::bigint[])", [nodes]);
  const search = await rows(tx, "delete from search_setting gone where layer_id = any($1::bigint[])", nodes);
  const [was] = await tx.query<NodeRow>("select type, code, name, parent_id, sort from node where id = $1", [
    root,
  ]);
  const [place] = await tx.query<{ id: number }>(
    `insert into map (id, project_id, code) select id, $1, id::text from nextval('container_id') id returning id`,
    [by ? binProject : deletedProject],
  );
  await tx.execute(
    `update node set map_id = $2, parent_id = case when parent_id = any($1::bigint[]) then parent_id end
     where id = any($1::bigint[])`,
    [nodes, place!.id],
  );
  if (!by) return;
  const { type, code, name, parent_id: parentId, sort } = was!;
  const kept = { grants, search, publication, parentId, sort };
  const kind = type === "folder" ? "folder" : "layer";
  await addToBin(tx, { kind, itemId: root, code, name, mapId, holderId: place!.id, kept }, by);
}

interface NodeRow {
  readonly type: string;
  readonly code: string;
  readonly name: string;
  readonly parent_id: number | null;
  readonly sort: number;
}
