import { forbidden, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Deleter } from "./bin.js";
import { discardNodes } from "./discard.js";
import { layersInFolder } from "./publication.js";
import type { LayerNode, LocalizedName, MapState, TreeNode } from "./state.js";
import {
  checkParent,
  chooseCode,
  lockMap,
  nextContainerId,
  nextSort,
  nodesUnder,
  placeNode,
  requireRoom,
} from "./tree.js";

/** Folders of a map's tree. */

export interface NewFolder {
  /** Default: generated. */
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  /** Id of the map or 0 (= directly in the map), or of a folder of the map; default 0. */
  readonly parentId?: number | undefined;
  /** Default: last in the parent. */
  readonly sort?: number | undefined;
  /** The client's settings, stored unchanged. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  readonly ownerId?: number | null | undefined;
}

/** Absent = unchanged. With a new parent and no `sort`, the folder becomes the parent's last. */
export type FolderChange = Omit<NewFolder, "ownerId">;

/** The folder of that code. @throws Failure not_found */
export function folderOf(map: MapState, code: string): TreeNode {
  for (const node of map.nodes.values()) if (node.type === "folder" && node.code === code) return node;
  throw notFound(`folder "${code}"`);
}

/**
 * Checks that a folder has the parent that a request names.
 * @param parentId as in `node.parent_id`
 * @param requested id of the map or 0 (= directly in the map), or of a folder; undefined = any
 * @throws Failure not_found
 */
export function requireParent(mapId: number, parentId: number | null, requested: number | undefined): void {
  if (requested === undefined) return;
  const expected = requested === mapId ? 0 : requested;
  if (expected !== (parentId ?? 0)) throw notFound("folder of that code in that parent");
}

/** Whether a folder is visible: it is empty, or at least one of its layers is readable. */
export function isFolderShown(
  map: MapState,
  folderId: number,
  readable: (layer: LayerNode) => boolean,
): boolean {
  const layers = layersInFolder(map, folderId);
  return layers.length === 0 || layers.some(readable);
}

/**
 * Creates an empty folder.
 * @returns its id
 * @throws Failure not_found (map, parent), invalid_code, code_exists; invalid_value when it would be nested too deeply
 *   or the map has too many folders and layers
 */
export function createFolder(db: Database, mapId: number, folder: NewFolder): Promise<number> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    await requireRoom(tx, mapId);
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
        await nextSort(tx, mapId, parentId),
        JSON.stringify(folder.json ?? {}),
        folder.ownerId ?? null,
      ],
    );
    if (folder.sort !== undefined) await placeNode(tx, mapId, { id, parentId }, folder.sort);
    return id;
  });
}

/**
 * Changes a folder's code, name, settings or position.
 * @throws Failure not_found (folder, parent, or a parent inside the folder), invalid_code, code_exists; invalid_value when
 *   folders would be nested too deeply
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
        parentId === folder.parent_id ? folder.sort : await nextSort(tx, mapId, parentId),
        change.name?.name ?? null,
        change.name?.localized ?? null,
        change.name ? JSON.stringify(change.name.names) : null,
        change.json ? JSON.stringify(change.json) : null,
      ],
    );
    if (change.sort !== undefined) await placeNode(tx, mapId, { id: folderId, parentId }, change.sort);
  });
}

export interface FolderDeletion {
  /** The parent that the request names, as in `requireParent`. */
  readonly parentId?: number | undefined;
  /** Called for every layer in the folder. */
  mayDelete(layerId: number): boolean;
  /** Keeps it in the bin. */
  readonly by?: Deleter | undefined;
}

/**
 * Deletes a folder with its contents: they are hidden at once, and `removal.ts` deletes them later.
 * @returns ids of the deleted layers
 * @throws Failure not_found (folder, or it has another parent); forbidden when one of its layers must not be deleted
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
    await discardNodes(tx, mapId, { root: folderId, nodes: nodes.map((node) => node.id) }, deletion.by);
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
