import { conflict, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { BinKind, KeptPlace } from "./bin.js";
import { checkCode } from "./codes.js";
import { restoreViews } from "./derived.js";
import { checkMapCode } from "./maps.js";
import { restorePublication } from "./restore-publication.js";
import { restoreSearch } from "./restore-search.js";
import { binProject, checkParent, isLiveSql, lockMap, nextSort, requireRoom } from "./tree.js";

/** The way back from the bin: all or nothing of an entry, with the ids that everything had. */

interface Entry {
  readonly kind: BinKind;
  readonly item: number;
  readonly code: string;
  readonly mapId: number;
  readonly layerId: number | null;
  readonly holder: number | null;
  readonly kept: unknown;
}

export interface Restored {
  readonly kind: BinKind;
  readonly id: number;
  readonly mapId: number;
  readonly layerId: number | null;
  readonly code: string;
  /** Sentences on what is not as it was. */
  readonly notes: readonly string[];
}

/**
 * Restores a map, folder or layer from the project's bin; columns: `restoreColumn`.
 * @param code that it gets; undefined = the one that it had
 * @throws Failure not_found when there is none, or its map or layer is gone; conflict when its code is taken; invalid_code,
 *   invalid_value, busy
 */
export async function restore(db: Database, project: number, id: number, code?: string): Promise<Restored> {
  const entry = await findEntry(db, project, id);
  return db.transaction(async (tx) => {
    if (entry.kind !== "map") await requireMap(tx, entry.mapId);
    const { kind, item, mapId, kept, ...found } = await findEntry(tx, project, id, "for update of b");
    const given = code ?? found.code;
    const place = kept as KeptPlace;
    const notes =
      kind === "map"
        ? await restoreMap(tx, project, mapId, given)
        : await restoreNodes(tx, { kind, item, mapId, holder: found.holder!, place, code: given });
    await restoreGrants(tx, place);
    await tx.execute("delete from bin where id = $1", [id]);
    return { kind, id: item, mapId, layerId: null, code: given, notes };
  });
}

/** @throws Failure not_found */
export async function findEntry(db: Queryable, project: number, id: number, lock = ""): Promise<Entry> {
  const [entry] = await db.query<Entry>(
    `select b.kind, b.item_id as item, b.code, b.map_id as "mapId", b.layer_id as "layerId", b.holder_id as holder, b.kept
     from bin b where b.id = $1 and b.project_id = $2 ${lock}`,
    [id, project],
  );
  if (!entry) throw notFound(`entry ${id} in the bin`);
  return entry;
}

/** Locks the map that something was in. @throws Failure not_found */
async function requireMap(tx: Queryable, mapId: number): Promise<void> {
  const live = await tx.query(`select from map m where id = $1 and ${isLiveSql}`, [mapId]);
  if (live.length === 0) throw notFound("map any more that this was in: restore the map first");
  await lockMap(tx, mapId);
}

const taken = (kind: string, code: string) =>
  conflict(`There is a ${kind} "${code}" by now: send another \`code\`.`, { code });

async function restoreMap(tx: Queryable, project: number, id: number, code: string): Promise<string[]> {
  checkMapCode(code);
  try {
    await tx.execute(
      `update map set project_id = $2, code = $3 where id = $1 and project_id = ${binProject}`,
      [id, project, code],
    );
  } catch (error) {
    // unique_violation
    if ((error as { code?: string }).code === "23505") throw taken("map", code);
    throw error;
  }
  return [];
}

interface NodesToRestore {
  readonly kind: BinKind;
  readonly item: number;
  readonly mapId: number;
  readonly holder: number;
  readonly place: KeptPlace;
  readonly code: string;
}

async function restoreNodes(
  tx: Queryable,
  { kind, item, mapId, holder, place, code }: NodesToRestore,
): Promise<string[]> {
  await requireRoom(tx, mapId, holder);
  await requireSources(tx, mapId, holder);
  await restoreViews(tx, place.views ?? {});
  const notes: string[] = [];
  const hasParent =
    (await tx.query("select from node where id = $1 and map_id = $2", [place.parentId, mapId])).length > 0;
  if (place.parentId !== null && !hasParent)
    notes.push("Its folder is gone, so that it is directly in the map.");
  const parentId = await checkParent(tx, mapId, hasParent ? place.parentId! : 0, item);
  const codes = await tx.query<{ id: number; folder: boolean; code: string; taken: boolean }>(
    `select n.id, n.type = 'folder' as folder, n.code, exists (
         select from node other where other.map_id = $1 and (other.type = 'folder') = (n.type = 'folder')
           and other.code = case when n.id = $3 then $4 else n.code end) as taken
     from node n where n.map_id = $2 order by n.id`,
    [mapId, holder, item, checkCode(code)],
  );
  if (codes.some((one) => one.id === item && one.taken)) throw taken(kind, code);
  const inner = codes.filter((one) => one.taken).map((one) => one.code);
  if (inner.length > 0)
    throw conflict(
      `There are other folders or layers with codes of what it holds by now: ${inner.slice(0, 10).join(", ")}. Give them other codes first.`,
      { codes: inner },
    );
  const sort = hasParent || place.parentId === null ? place.sort : await nextSort(tx, mapId, null);
  await tx.execute(
    `update node set map_id = $2, parent_id = case when id = $3 then $4 else parent_id end,
       code = case when id = $3 then $5 else code end, sort = case when id = $3 then $6 else sort end
     where map_id = $1`,
    [holder, mapId, item, parentId, code, sort],
  );
  await restoreSearch(tx, mapId, place.search);
  if (place.publication) await restorePublication(tx, mapId, place.publication);
  // It holds nothing any more, and takes the entry with it.
  await tx.execute("delete from map where id = $1", [holder]);
  return notes;
}

/** @throws Failure invalid_value when a layer's source is not in the map any more */
async function requireSources(tx: Queryable, mapId: number, holder: number): Promise<void> {
  const missing = await tx.query<{ code: string }>(
    `select s.code from node n join layer l on l.id = n.id join node s on s.id = l.source_id
     where n.map_id = $2 and s.map_id not in ($1, $2) order by s.code`,
    [mapId, holder],
  );
  if (missing.length === 0) return;
  const layers = missing.map(({ code }) => code);
  throw failed(
    "invalid_value",
    `It is made from layers that are deleted: ${layers.join(", ")}. Restore them first.`,
    {
      layers,
    },
  );
}

/** Rights of the project's members and keys of now; what was given anew meanwhile stays. */
const restoreGrants = (tx: Queryable, { grants }: KeptPlace): Promise<unknown> =>
  tx.execute(
    `insert into access_grant overriding system value
     select g.* from jsonb_populate_recordset(null::access_grant, $1) g
     where g.account_id is null
       or exists (select from membership where (project_id, account_id) = (g.project_id, g.account_id))
       or exists (select from access_key where (project_id, account_id) = (g.project_id, g.account_id))
     on conflict do nothing`,
    [JSON.stringify(grants)],
  );
