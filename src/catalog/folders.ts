import { forbidden, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { discardNodes } from "./discard.js";
import { forgetPublished, heldLayers } from "./publication.js";
import type { LayerNode, LocalizedName, MapState, TreeNode } from "./state.js";
import { checkParent, chooseCode, lastPlace, lockMap, nextContainerId, nodesUnder, place } from "./tree.js";

/** Folders of a map's tree. */

export interface NewFolder {
  /** Default: a generated one. */
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  /** Id of the map or 0 (= directly in the map), or of a folder of the map; default 0. */
  readonly parentId?: number | undefined;
  /** Default: last in the parent. */
  readonly sort?: number | undefined;
  /** Settings, kept as they are. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  readonly ownerId?: number | null | undefined;
}

/** What changes of a folder; absent = stays. A new parent without `sort` puts the folder last there. */
export type FolderChange = Omit<NewFolder, "ownerId">;

/** The folder of that code. @throws Failure not_found */
export function folderOf(map: MapState, code: string): TreeNode {
  for (const node of map.nodes.values()) if (node.type === "folder" && node.code === code) return node;
  throw notFound(`folder "${code}"`);
}

/**
 * Makes sure that a folder lies where a request says.
 * @param parentId as `node.parent_id`
 * @param said id of the map or 0 (= directly in the map), or of a folder; undefined = wherever
 * @throws Failure not_found
 */
export function requireParent(mapId: number, parentId: number | null, said: number | undefined): void {
  if (said === undefined) return;
  const wanted = said === mapId ? 0 : said;
  if (wanted !== (parentId ?? 0)) throw notFound("folder of that code in that parent");
}

/** Whether the folder is there for someone: it is, unless it holds layers that may all not be read. */
export function isFolderShown(
  map: MapState,
  folderId: number,
  readable: (layer: LayerNode) => boolean,
): boolean {
  const layers = heldLayers(map, folderId);
  return layers.length === 0 || layers.some(readable);
}

/**
 * Makes an empty folder.
 * @returns its id
 * @throws Failure not_found (map, parent), invalid_code, code_exists; invalid_value when it would lie too deep
 */
export function createFolder(db: Database, mapId: number, folder: NewFolder): Promise<number> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const parentId = await checkParent(tx, mapId, folder.parentId ?? 0);
    const id = await nextContainerId(tx);
    const name = folder.name ?? { name: "", localized: false, names: {} };
    await tx.execute(
      `insert into node (id, map_id, parent_id, type, code, name, localized_name, names, sort, json, style_mode,
         owner_id)
       values ($1, $2, $3, 'folder', $4, $5, $6, $7, $8, $9, 0, $10)`,
      [
        id,
        mapId,
        parentId,
        await chooseCode(tx, mapId, { id, kind: "folder" }, folder.code),
        name.name,
        name.localized,
        JSON.stringify(name.names),
        await lastPlace(tx, mapId, parentId),
        JSON.stringify(folder.json ?? {}),
        folder.ownerId ?? null,
      ],
    );
    if (folder.sort !== undefined) await place(tx, mapId, { id, parentId }, folder.sort);
    return id;
  });
}

/**
 * Changes a folder's code, name, settings or place.
 * @throws Failure not_found (folder, parent, or a parent that lies in the folder), invalid_code, code_exists;
 *   invalid_value when folders would lie too deep
 */
export function changeFolder(
  db: Database,
  mapId: number,
  folderId: number,
  change: FolderChange,
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const folder = await findFolder(tx, mapId, folderId);
    const parentId =
      change.parentId === undefined
        ? folder.parent_id
        : await checkParent(tx, mapId, change.parentId, folderId);
    const code =
      change.code === undefined
        ? folder.code
        : await chooseCode(tx, mapId, { id: folderId, kind: "folder" }, change.code);
    await tx.execute(
      `update node set code = $2, parent_id = $3, sort = $4, name = coalesce($5, name),
         localized_name = coalesce($6, localized_name), names = coalesce($7, names), json = coalesce($8, json)
       where id = $1`,
      [
        folderId,
        code,
        parentId,
        parentId === folder.parent_id ? folder.sort : await lastPlace(tx, mapId, parentId),
        change.name?.name ?? null,
        change.name?.localized ?? null,
        change.name ? JSON.stringify(change.name.names) : null,
        change.json ? JSON.stringify(change.json) : null,
      ],
    );
    if (change.sort !== undefined) await place(tx, mapId, { id: folderId, parentId }, change.sort);
  });
}

export interface FolderDeletion {
  /** Where the request says that the folder lies; as in `requireParent`. */
  readonly parentId?: number | undefined;
  /** Asked for every layer that would go with the folder. */
  mayDelete(layerId: number): boolean;
}

/**
 * Deletes a folder with all that it holds. When this returns, nobody finds it any more; `removal.ts` takes it away.
 * @returns ids of the layers that are gone
 * @throws Failure not_found (folder, or it lies elsewhere); forbidden, when one of its layers must not be deleted
 */
export function deleteFolder(
  db: Database,
  mapId: number,
  folderId: number,
  deletion: FolderDeletion,
): Promise<number[]> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const folder = await findFolder(tx, mapId, folderId);
    requireParent(mapId, folder.parent_id, deletion.parentId);
    const nodes = await nodesUnder(tx, folderId);
    const layers = nodes.filter((node) => node.layer).map((node) => node.id);
    if (!layers.every((id) => deletion.mayDelete(id)))
      throw forbidden("The folder holds layers that your rights do not let you delete.");
    const ids = nodes.map((node) => node.id);
    await forgetPublished(tx, mapId, ids);
    await discardNodes(tx, ids);
    return layers;
  });
}

async function findFolder(
  tx: Queryable,
  mapId: number,
  id: number,
): Promise<{ code: string; parent_id: number | null; sort: number }> {
  const [row] = await tx.query<{ code: string; parent_id: number | null; sort: number }>(
    "select code, parent_id, sort from node where id = $1 and map_id = $2 and type = 'folder'",
    [id, mapId],
  );
  if (!row) throw notFound("folder of that code");
  return row;
}
