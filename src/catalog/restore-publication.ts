import type { Queryable } from "../storage/postgres.js";
import type { PublicationElement } from "./state.js";

/**
 * What the deletion of layers and folders changed in a publication tree. The bin keeps it of each deletion, and trees may have
 * thousands of elements: so it is only those that differ.
 */
export interface PublicationChange {
  /** Elements that went or moved up, as they were; of older versions all. */
  readonly before: readonly PublicationElement[];
  /** Those that moved up, as they are then. */
  readonly after: readonly PublicationElement[];
  /** Places of `before` in the tree; absent when it has all. */
  readonly places?: readonly number[];
}

/** From a whole tree to another one that has fewer elements. */
export function changeOf(
  before: readonly PublicationElement[],
  after: readonly PublicationElement[],
): PublicationChange {
  const left = new Map(after.map((element) => [element.id, element]));
  const changed = before.flatMap((was, place) => {
    const is = left.get(was.id);
    return is?.parentId === was.parentId ? [] : [{ was, is, place }];
  });
  return {
    before: changed.map(({ was }) => was),
    after: changed.flatMap(({ is }) => is ?? []),
    places: changed.map(({ place }) => place),
  };
}

/**
 * Puts back into a map's publication tree what the deletion of layers and folders took out of it; what was changed since stays as it
 * is. The caller has locked the map's row, and the layers and folders are there.
 */
export async function restorePublication(
  tx: Queryable,
  mapId: number,
  change: PublicationChange,
): Promise<void> {
  const [row] = await tx.query<{ publication: PublicationElement[] | null }>(
    "select publication from map where id = $1",
    [mapId],
  );
  // It publishes its full tree by now.
  if (!row?.publication) return;
  const merged = merge(row.publication, change);
  await tx.execute("update map set publication = $2 where id = $1", [mapId, JSON.stringify(merged)]);
}

/** The elements of now with what the change took away, in the places that they had. */
export function merge(
  now: readonly PublicationElement[],
  { before, after, places = [...before.keys()] }: PublicationChange,
): PublicationElement[] {
  const left = new Map(after.map((element) => [element.id, element]));
  const was = new Map(before.map((element) => [element.id, element]));
  const missing = before.filter(({ id }) => !left.has(id));
  const taken = new Set(now.map(({ id }) => id));
  // Somebody may have given the ids of what was deleted to other elements.
  let next = Math.max(0, ...taken, ...was.keys());
  const ids = new Map(missing.map(({ id }) => [id, taken.has(id) ? ++next : id]));
  const isThere = (id: number) => ids.has(id) || taken.has(id);
  const back = missing.map((element) => ({
    ...element,
    id: ids.get(element.id)!,
    parentId: isThere(element.parentId) ? (ids.get(element.parentId) ?? element.parentId) : 0,
  }));
  const stayed = now.map((element) => {
    const [old, moved] = [was.get(element.id), left.get(element.id)];
    const isUnmoved = old?.nodeId === element.nodeId && moved?.parentId === element.parentId;
    if (!isUnmoved || old.parentId === element.parentId || !isThere(old.parentId)) return element;
    return { ...element, parentId: ids.get(old.parentId) ?? old.parentId };
  });
  const place = new Map(before.map(({ id }, index) => [ids.get(id), places[index]!]));
  // Ascending, so that each finds its own if nothing else has changed.
  for (const element of back) stayed.splice(place.get(element.id)!, 0, element);
  return stayed;
}
