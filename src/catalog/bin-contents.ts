import type { Database, Queryable } from "../storage/postgres.js";
import type { BinKind } from "./bin.js";
import { dropViewsInBin } from "./derived.js";
import { isLiveSql } from "./tree.js";

/** What is in the bin, and how it leaves it for good. */

/** Most entries that a list has. */
const mostListed = 10_000;

export interface BinEntry {
  readonly id: number;
  readonly kind: BinKind;
  readonly item: number;
  readonly code: string;
  readonly name: string;
  readonly mapId: number;
  readonly map: string;
  readonly layerId: number | null;
  readonly layer: string | null;
  /** Whether the map or layer that it was in is in the bin, too: its rights of then are not known. */
  readonly isInside: boolean;
  /** Layers that would be restored. */
  readonly layers: readonly number[];
  readonly grants: readonly KeptGrant[];
  readonly bytes: number;
  readonly deletedAt: Date;
  readonly by: string;
}

interface KeptGrant {
  readonly map_id: number | null;
  readonly layer_id: number | null;
  readonly account_id: number | null;
  readonly rights: number;
}

/** The newest entries of a project's bin, newest first. @param id only of this entry */
export async function listBin(db: Queryable, project: number, id?: number): Promise<BinEntry[]> {
  await measure(db, project);
  return db.query<BinEntry>(
    `select b.id, b.kind, b.item_id as item, b.code, b.name, b.map_id as "mapId", b.map_code as map, b.layer_id as "layerId",
       coalesce(l.code, b.layer_code) as layer, coalesce(b.kept->'grants', '[]') as grants, coalesce(b.bytes, 0) as bytes,
       array(select n.id from node n where n.map_id = b.holder_id and n.type <> 'folder') as layers,
       b.deleted_at as "deletedAt", b.deleted_login as by, b.kind <> 'map' and not ${isLiveSql} as "isInside"
     from bin b left join node l on l.id = b.layer_id join map m on m.id = coalesce(l.map_id, b.map_id)
     where b.project_id = $1 and ($2::bigint is null or b.id = $2) order by b.id desc limit ${mostListed}`,
    [project, id ?? null],
  );
}

/**
 * Measures what is new in the bin: tables with their indexes, images and attached files. Of columns it is an estimate from
 * PostgreSQL's statistics.
 */
const measure = (db: Queryable, project: number): Promise<unknown> =>
  db.execute(
    `update bin b set bytes = case when b.kind = 'column' then coalesce((
         select (s.avg_width * c.reltuples * (1 - s.null_frac))::bigint
         from pg_stats s join pg_class c on c.oid = to_regclass('layers.l' || b.layer_id)
         where s.schemaname = 'layers' and s.tablename = 'l' || b.layer_id and s.attname = 'c' || b.item_id), 0)
         + (select coalesce(sum(f.bytes), 0) from file f where f.column_id = b.item_id)
       else (
         select coalesce(sum(pg_total_relation_size(c.oid)), 0) from node n join pg_class c
           on c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and split_part(c.relname, '_', 1) = 'l' || n.id
         where n.map_id = b.holder_id
       ) + (
         select coalesce(sum(f.bytes), 0) from node n join file f on f.layer_id = n.id where n.map_id = b.holder_id
       ) + (
         select coalesce(sum(r.original_bytes + r.processed_bytes), 0) from node n join raster r on r.layer_id = n.id
         where n.map_id = b.holder_id
       ) end
     where b.project_id = $1 and b.bytes is null`,
    [project],
  );

/** Most entries that one turn takes out of the bin. */
const purgedAtOnce = 100;
/** Wait for a layer whose column is taken away; it is tried again later. */
const lockTimeoutMs = 200;

/**
 * Takes entries out of the bin for good; `removal.ts` removes what they held.
 * @param which of one project, or of that age in all of them
 * @returns their number, of at most 100 in each turn
 */
export async function purgeBin(
  db: Pick<Database, "query" | "write" | "transaction">,
  which:
    | { readonly project: number; readonly id?: number }
    | { readonly olderThanDays: number; readonly now?: Date },
): Promise<number> {
  const condition =
    "project" in which
      ? "project_id = $1 and ($2::bigint is null or id = $2)"
      : "deleted_at < coalesce($2::timestamptz, now()) - $1 * interval '1 day'";
  const values =
    "project" in which ? [which.project, which.id ?? null] : [which.olderThanDays, which.now ?? null];
  const others = await db.write(
    `delete from bin where id in (
       select id from bin where kind <> 'column' and ${condition} order by id limit ${purgedAtOnce} for update skip locked)
     returning 1`,
    values,
  );
  const columns = await db.query<{ id: number }>(
    `select id from bin where kind = 'column' and ${condition} order by id limit ${purgedAtOnce}`,
    values,
  );
  let gone = others.length;
  for (const { id } of columns) if (await purgeColumn(db, id)) gone++;
  return gone;
}

/** Takes a column away with its values; false when its table is in use. */
async function purgeColumn(
  db: Pick<Database, "query" | "write" | "transaction">,
  id: number,
): Promise<boolean> {
  try {
    return await db.transaction(async (tx) => {
      await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
      const [row] = await tx.query<{ item: number; layer: number; there: boolean }>(
        `select item_id as item, layer_id as layer, to_regclass('layers.l' || layer_id) is not null as there
         from bin where id = $1 for update`,
        [id],
      );
      if (!row) return false;
      if (row.there) {
        await dropViewsInBin(tx, row.layer);
        await tx.execute(
          `alter table layers.l${Math.trunc(row.layer)} drop column if exists c${Math.trunc(row.item)}`,
        );
      }
      await tx.execute("delete from bin where id = $1", [id]);
      return true;
    });
  } catch (error) {
    // 55P03 lock_not_available, 40P01 deadlock_detected; 2BP01 dependent_objects_still_exist
    if (["55P03", "40P01", "2BP01"].includes((error as { code?: string }).code ?? "")) return false;
    throw error;
  }
}
