import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { changeOf, type PublicationChange } from "./restore-publication.js";
import { isLayer, type LayerNode, type MapState, type PublicationElement, type TreeNode } from "./state.js";
import { lockMap, maxDepth } from "./tree.js";

/** The nodes of a map that are shown: its full tree, or its publication tree if it has one. */

/** Elements of one publication tree. */
export const maxElements = 5_000;

export interface Published {
  readonly node: TreeNode | LayerNode;
  /** The element of the publication tree. Absent in the full tree. */
  readonly element?: PublicationElement;
}

type Readable = (layer: LayerNode) => boolean;

/** Number of layers under an element, and of readable ones among them. */
interface Count {
  all: number;
  readable: number;
}

/** Whether a folder is shown: it is empty, or at least one of its layers is readable. */
const isShown = ({ all, readable }: Count): boolean => all === 0 || readable > 0;

/** Folders and layers depth first, each folder before its children, without those that are not readable. */
export function fullTree(map: MapState, readable: Readable): Published[] {
  const shown: Published[] = [];
  const walk = (parent: number, count: Count) => {
    for (const node of map.children.get(parent) ?? []) {
      if (isLayer(node)) {
        if (countLayer(count, readable(node))) shown.push({ node });
        continue;
      }
      const at = shown.push({ node }) - 1;
      const below: Count = { all: 0, readable: 0 };
      walk(node.id, below);
      if (!isShown(below)) shown.length = at;
      add(count, below);
    }
  };
  walk(0, { all: 0, readable: 0 });
  return shown;
}

/**
 * Elements of the publication tree depth first, each before its children. Elements whose layer or folder was deleted or is
 * not readable are left out, with their children.
 * @param elements the map's publication tree
 */
export function publicationTree(
  map: MapState,
  elements: readonly PublicationElement[],
  readable: Readable,
): Published[] {
  const children = childrenOf(elements);
  const shown: Published[] = [];
  const walk = (siblings: readonly PublicationElement[], count: Count) => {
    for (const element of siblings) {
      const node = map.nodes.get(element.nodeId);
      if (!node) continue;
      const own = children.get(element.id);
      const below: Count = { all: 0, readable: 0 };
      if (isLayer(node)) {
        if (!countLayer(count, readable(node))) continue;
      } else if (!own) {
        for (const layer of layersInFolder(map, node.id)) countLayer(below, readable(layer));
      }
      const at = shown.push({ node, element }) - 1;
      if (own) walk(own, below);
      if (!isLayer(node) && !isShown(below)) shown.length = at;
      add(count, below);
    }
  };
  walk(children.get(0) ?? [], { all: 0, readable: 0 });
  return shown;
}

/**
 * Ids of the layers that are on by default in the publication tree: those whose element and all its parents are selected.
 * An element of a folder without children stands for the folder's contents: of these, layers are on if they and all
 * folders above them are selected.
 * @param elements the map's publication tree
 */
export function publishedSelection(
  map: MapState,
  elements: readonly PublicationElement[],
): ReadonlySet<number> {
  const children = childrenOf(elements);
  const own = new Set(elements.map((element) => element.nodeId));
  const on = new Set<number>();
  const walkFolder = (folder: number) => {
    for (const node of map.children.get(folder) ?? []) {
      // Nodes with an element of their own are selected by that.
      if (!node.selected || own.has(node.id)) continue;
      if (isLayer(node)) on.add(node.id);
      else walkFolder(node.id);
    }
  };
  const walk = (siblings: readonly PublicationElement[]) => {
    for (const element of siblings) {
      const node = map.nodes.get(element.nodeId);
      if (!node || !element.selected) continue;
      const below = children.get(element.id);
      if (isLayer(node)) on.add(node.id);
      else if (!below) walkFolder(node.id);
      if (below) walk(below);
    }
  };
  walk(children.get(0) ?? []);
  return on;
}

/** The layers in a folder and its subfolders, depth first. */
export function layersInFolder(map: MapState, folderId: number): LayerNode[] {
  return (map.children.get(folderId) ?? []).flatMap((node) =>
    isLayer(node) ? [node] : layersInFolder(map, node.id),
  );
}

/**
 * Replaces the publication tree of the map.
 * @throws Failure not_found for a parent, layer or folder that does not exist in this map, and for cycles; invalid_value for
 *   duplicate ids and for a tree that is too deep
 */
export async function savePublication(
  db: Database,
  mapId: number,
  elements: readonly PublicationElement[],
): Promise<void> {
  checkTree(elements);
  await db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const [unknown] = await tx.query<{ id: number }>(
      `select id from unnest($2::bigint[]) id
       where not exists (select from node where node.id = id.id and node.map_id = $1) limit 1`,
      [mapId, elements.map((element) => element.nodeId)],
    );
    if (unknown) throw notFound(`layer or folder with id ${unknown.id} in this map`);
    await tx.execute("update map set publication = $2 where id = $1", [mapId, JSON.stringify(elements)]);
  });
}

/**
 * Removes elements of deleted layers and folders from the publication tree; their children move up to their parents. A
 * folder's element that loses all its children is removed too: without children it would stand for all contents of the
 * folder. The caller has locked the map's row.
 * @returns what that changed, for `restorePublication`
 */
export async function removeFromPublication(
  tx: Queryable,
  mapId: number,
  nodeIds: readonly number[],
): Promise<PublicationChange | null> {
  const [row] = await tx.query<{ publication: PublicationElement[] | null; folders: number[] }>(
    `select publication,
       (select coalesce(json_agg(id), '[]') from node where map_id = $1 and type = 'folder') as folders
     from map where id = $1`,
    [mapId],
  );
  const deleted = new Set(nodeIds);
  const elements = row?.publication;
  if (!elements?.some((element) => deleted.has(element.nodeId))) return null;
  const kept = withoutEmptied(elements, withoutNodes(elements, deleted), new Set(row?.folders));
  await tx.execute("update map set publication = $2 where id = $1", [mapId, JSON.stringify(kept)]);
  return changeOf(elements, kept);
}

function withoutNodes(
  elements: readonly PublicationElement[],
  deleted: ReadonlySet<number>,
): readonly PublicationElement[] {
  const parents = new Map(
    elements.filter((element) => deleted.has(element.nodeId)).map(({ id, parentId }) => [id, parentId]),
  );
  const parentOf = (id: number): number => {
    const above = parents.get(id);
    return above === undefined ? id : parentOf(above);
  };
  return elements
    .filter((element) => !deleted.has(element.nodeId))
    .map((element) => ({ ...element, parentId: parentOf(element.parentId) }));
}

/** The remaining elements, without those of folders that had children before and have none now. */
function withoutEmptied(
  before: readonly PublicationElement[],
  left: readonly PublicationElement[],
  folders: ReadonlySet<number>,
): readonly PublicationElement[] {
  const childrenBefore = childrenOf(before);
  const children = childrenOf(left);
  const kept = left.filter(
    ({ id, nodeId }) => children.has(id) || !childrenBefore.has(id) || !folders.has(nodeId),
  );
  return kept.length === left.length ? kept : withoutEmptied(before, kept, folders);
}

function checkTree(elements: readonly PublicationElement[]): void {
  const ids = new Set<number>();
  for (const { id } of elements) {
    if (ids.has(id)) throw failed("invalid_value", `The id ${id} comes twice.`, { parameter: "id" });
    ids.add(id);
  }
  for (const { parentId } of elements) {
    if (parentId !== 0 && !ids.has(parentId)) throw notFound(`element with the id ${parentId} for a parent`);
  }
  const children = childrenOf(elements);
  let reached = 0;
  let level = children.get(0) ?? [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) throw failed("invalid_value", `The tree is more than ${maxDepth} levels deep.`);
    reached += level.length;
    level = level.flatMap((element) => children.get(element.id) ?? []);
  }
  // All parents exist, so elements that cannot be reached from the root form a cycle.
  if (reached < elements.length) throw notFound("way from the root to every element");
}

/** Elements by their parent's id, sorted. */
function childrenOf(elements: readonly PublicationElement[]): Map<number, PublicationElement[]> {
  const children = new Map<number, PublicationElement[]>();
  for (const element of elements) {
    const siblings = children.get(element.parentId);
    if (siblings) siblings.push(element);
    else children.set(element.parentId, [element]);
  }
  for (const siblings of children.values()) siblings.sort((a, b) => a.sort - b.sort || a.id - b.id);
  return children;
}

/** Counts a layer. @returns whether it is readable */
function countLayer(count: Count, readable: boolean): boolean {
  count.all++;
  if (readable) count.readable++;
  return readable;
}

function add(count: Count, below: Count): void {
  count.all += below.all;
  count.readable += below.readable;
}
