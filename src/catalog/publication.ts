import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { isLayer, type LayerNode, type MapState, type PublicationElement, type TreeNode } from "./state.js";
import { lockMap, maxDepth } from "./tree.js";

/** What of a map is shown, and the publication tree that decides it where a map was given one. */

export interface Published {
  /** The layer or folder that the element is built on. */
  readonly node: TreeNode | LayerNode;
  /** Absent where the full tree is published. */
  readonly element?: PublicationElement;
}

type Readable = (layer: LayerNode) => boolean;

/** How many layers there are under an element, and how many of them may be read. */
interface Count {
  all: number;
  readable: number;
}

/** A folder is shown unless it holds layers that may all not be read: an empty one is shown. */
const isShown = ({ all, readable }: Count): boolean => all === 0 || readable > 0;

/**
 * Folders and layers from the top of the tree to its bottom, each folder before what it holds, without what must
 * not be read.
 */
export function fullTree(map: MapState, readable: Readable): Published[] {
  const shown: Published[] = [];
  const walk = (parent: number, count: Count) => {
    for (const node of map.children.get(parent) ?? []) {
      if (isLayer(node)) {
        if (counted(count, readable(node))) shown.push({ node });
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
 * The elements from the top of the publication tree to its bottom, each before what it holds. Elements whose layer
 * or folder is gone or must not be read are left out, and what they hold goes with them.
 * @param elements the map's publication
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
      const held = children.get(element.id);
      const below: Count = { all: 0, readable: 0 };
      if (isLayer(node)) {
        if (!counted(count, readable(node))) continue;
      } else if (!held) {
        for (const layer of heldLayers(map, node.id)) counted(below, readable(layer));
      }
      const at = shown.push({ node, element }) - 1;
      if (held) walk(held, below);
      if (!isLayer(node) && !isShown(below)) shown.length = at;
      add(count, below);
    }
  };
  walk(children.get(0) ?? [], { all: 0, readable: 0 });
  return shown;
}

/**
 * Ids of the layers that the publication tree leaves on by default: those of elements that are selected together
 * with all their parents. The element of a folder with nothing under it stands for what the folder holds, of which
 * the layers that are selected together with their folders are on.
 * @param elements the map's publication
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
      // A layer that has an element of its own is decided by that.
      if (!node.selected || own.has(node.id)) continue;
      if (isLayer(node)) on.add(node.id);
      else walkFolder(node.id);
    }
  };
  const walk = (siblings: readonly PublicationElement[]) => {
    for (const element of siblings) {
      const node = map.nodes.get(element.nodeId);
      if (!node || !element.selected) continue;
      const held = children.get(element.id);
      if (isLayer(node)) on.add(node.id);
      else if (!held) walkFolder(node.id);
      if (held) walk(held);
    }
  };
  walk(children.get(0) ?? []);
  return on;
}

/** The layers of a folder and of the folders in it, from the top of the tree to its bottom. */
export function heldLayers(map: MapState, folderId: number): LayerNode[] {
  return (map.children.get(folderId) ?? []).flatMap((node) =>
    isLayer(node) ? [node] : heldLayers(map, node.id),
  );
}

/**
 * Makes this the publication tree of the map, whole and in place of what it had.
 * @throws Failure not_found for a parent or a layer or folder that there is not in this map, and for elements that
 *   hold each other; invalid_value for an id that comes twice and for a tree that is too deep
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
 * Takes elements of deleted layers and folders out of the publication tree; what they hold moves up to their parents. A
 * folder's element that nothing is left under goes as well: alone it would stand for all that the folder holds. The map
 * must be locked.
 */
export async function forgetPublished(
  tx: Queryable,
  mapId: number,
  nodeIds: readonly number[],
): Promise<void> {
  const [row] = await tx.query<{ publication: PublicationElement[] | null; folders: number[] }>(
    `select publication,
       (select coalesce(json_agg(id), '[]') from node where map_id = $1 and type = 'folder') as folders
     from map where id = $1`,
    [mapId],
  );
  const gone = new Set(nodeIds);
  const elements = row?.publication;
  if (!elements?.some((element) => gone.has(element.nodeId))) return;
  const kept = withoutEmptied(elements, withoutNodes(elements, gone), new Set(row?.folders));
  await tx.execute("update map set publication = $2 where id = $1", [mapId, JSON.stringify(kept)]);
}

function withoutNodes(
  elements: readonly PublicationElement[],
  gone: ReadonlySet<number>,
): readonly PublicationElement[] {
  const parents = new Map(
    elements.filter((element) => gone.has(element.nodeId)).map(({ id, parentId }) => [id, parentId]),
  );
  const parentOf = (id: number): number => {
    const above = parents.get(id);
    return above === undefined ? id : parentOf(above);
  };
  return elements
    .filter((element) => !gone.has(element.nodeId))
    .map((element) => ({ ...element, parentId: parentOf(element.parentId) }));
}

/** What is left without elements of folders that had something under them before and have nothing now. */
function withoutEmptied(
  before: readonly PublicationElement[],
  left: readonly PublicationElement[],
  folders: ReadonlySet<number>,
): readonly PublicationElement[] {
  const held = childrenOf(before);
  const holds = childrenOf(left);
  const kept = left.filter(({ id, nodeId }) => holds.has(id) || !held.has(id) || !folders.has(nodeId));
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
  // Every parent is there, so what cannot be reached from the root goes round in a circle.
  if (reached < elements.length) throw notFound("way from the root to every element");
}

/** Elements by their parent's id, in their order. */
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

/** Counts one layer; gives whether it may be read. */
function counted(count: Count, readable: boolean): boolean {
  count.all++;
  if (readable) count.readable++;
  return readable;
}

function add(count: Count, below: Count): void {
  count.all += below.all;
  count.readable += below.readable;
}
