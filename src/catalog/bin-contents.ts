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

/** The newest entries of a project's bin, newest first. @param id only this entry, which is not measured */
export async function listBin(db: Queryable, project: number, id?: number): Promise<BinEntry[]> {
  if (id === undefined) await measure(db, project);
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

/** Most entries that a list measures; the others follow with the next ones. */
const measuredAtOnce = 100;

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
           on c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and (c.relname = ('l' || n.id)::name
             -- All that begin with it and an underscore, which is character 95.
             or c.relname > ('l' || n.id || '_')::name and c.relname < ('l' || n.id || chr(96))::name)
         where n.map_id = b.holder_id
       ) + (
         select coalesce(sum(f.bytes), 0) from node n join file f on f.layer_id = n.id where n.map_id = b.holder_id
       ) + (
         select coalesce(sum(r.original_bytes + r.processed_bytes), 0) from node n join raster r on r.layer_id = n.id
         where n.map_id = b.holder_id
       ) end
     where b.id = any(array(
       select id from bin where project_id = $1 and bytes is null order by id desc limit ${measuredAtOnce} for update skip locked))`,
    [project],
  );

/** Most entries that one turn takes out of the bin, and columns of each layer. */
const purgedAtOnce = 100;
/** Layers that one turn takes columns from when time is up: each might keep its readers and writers waiting. */
const layersAtOnce = 20;
/** Wait for a layer whose columns are taken away; it is tried again later. */
const lockTimeoutMs = 200;

type Purging = Pick<Database, "query" | "write" | "transaction">;

/**
 * Takes entries out of the bin for good; `removal.ts` removes what they held. Columns of layers that are in use stay.
 * @param which of one project, or of that age in all of them
 * @returns their number, in each turn of at most 100, and 100 columns of each layer; 0 = what is left is in use
 */
export async function purgeBin(
  db: Purging,
  which:
    | { readonly project: number; readonly id?: number }
    | { readonly olderThanDays: number; readonly now?: Date },
): Promise<number> {
  const ofProject = "project" in which;
  const condition = ofProject
    ? "project_id = $1 and ($2::bigint is null or id = $2)"
    : "deleted_at < coalesce($2::timestamptz, now()) - $1 * interval '1 day'";
  const values = ofProject ? [which.project, which.id ?? null] : [which.olderThanDays, which.now ?? null];
  const others = await db.write(
    `delete from bin where id in (
       select id from bin where kind <> 'column' and ${condition} order by id limit ${purgedAtOnce} for update skip locked)
     returning 1`,
    values,
  );
  // In no order, so that those in use never keep the others back.
  const layers = await db.query<{ id: number; entries: number[] }>(
    `select layer_id as id, (array_agg(id order by id))[:${purgedAtOnce}] as entries from bin
     where kind = 'column' and ${condition} group by layer_id order by random() limit ${ofProject ? mostListed : layersAtOnce}`,
    values,
  );
  let gone = others.length;
  for (const { id, entries } of layers) gone += await purgeColumns(db, id, entries);
  return gone;
}

/** What keeps the columns of a layer: 55P03 lock_not_available, 40P01 deadlock_detected, 57014 query_canceled. */
const inUse = ["55P03", "40P01", "57014"];
const dependentObjectsStillExist = "2BP01";

/** Takes columns of a layer away with their values. @returns their number; 0 when its table is in use */
async function purgeColumns(db: Purging, layer: number, entries: readonly number[]): Promise<number> {
  try {
    return await db.transaction(async (tx) => {
      await tx.execute(`set local lock_timeout = ${lockTimeoutMs}`);
      const rows = await tx.query<{ id: number; item: number; there: boolean }>(
        `select id, item_id as item, to_regclass('layers.l' || layer_id) is not null as there
         from bin where id = any($1::bigint[]) order by id for update skip locked`,
        [entries],
      );
      if (rows[0]?.there) {
        await dropViewsInBin(tx, layer);
        const drops = rows.map(({ item }) => `drop column if exists c${Math.trunc(item)}`);
        await tx.execute(`alter table layers.l${Math.trunc(layer)} ${drops.join(", ")}`);
      }
      await tx.execute("delete from bin where id = any($1::bigint[])", [rows.map(({ id }) => id)]);
      return rows.length;
    });
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === dependentObjectsStillExist) {
      // A layer that was restored is made from one of them.
      let gone = 0;
      if (entries.length > 1) for (const entry of entries) gone += await purgeColumns(db, layer, [entry]);
      return gone;
    }
    if (inUse.includes(code)) return 0;
    throw error;
  }
}
