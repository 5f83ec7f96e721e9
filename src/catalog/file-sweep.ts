import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Database } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";

/** Garbage collection: deletes files that no object lists any more, and blobs without a file. */

const intervalMs = 3_600_000;
/** Longer than any request: a blob is stored before its row, and a client may list a file again. */
const minAgeMs = 86_400_000;
const batchSize = 1_000;

interface Group {
  readonly layer_id: number;
  readonly column_id: number;
  readonly type: string;
  readonly localized_value: boolean;
}

/**
 * One pass. Stops if another node is sweeping.
 * @param ageMs minimum age of deleted files and blobs
 * @returns number of deleted blobs
 */
export async function sweepFiles(db: Database, blobs: BlobStore, ageMs = minAgeMs): Promise<number> {
  const groups = await db.query<Group>(
    `select c.layer_id, c.id as column_id, c.type, c.localized_value from layer_column c
     where exists (select from file f where f.column_id = c.id) and to_regclass('layers.l' || c.layer_id) is not null
     order by c.id`,
  );
  let removed = 0;
  for (const group of groups) {
    const gone = await sweepGroup(db, group, ageMs);
    if (!gone) return removed;
    for (const uuid of gone) await blobs.delete(uuid);
    removed += gone.length;
  }
  return removed + (await sweepBlobs(db, blobs, ageMs));
}

/**
 * Deletes rows of a column's files, in a transaction for each column: one for all layers could exceed PostgreSQL's limit of
 * locks.
 * @returns their uuids; undefined when another node is sweeping
 */
async function sweepGroup(db: Database, group: Group, ageMs: number): Promise<string[] | undefined> {
  try {
    return await db.transaction(async (tx) => {
      const [lock] = await tx.query<{ free: boolean }>(
        `select pg_try_advisory_xact_lock(${workLock.fileSweep}) as free`,
      );
      if (!lock?.free) return undefined;
      const uuids: string[] = [];
      // Two statements: the second sees what writers committed before the first locked the rows.
      const locked = await tx.query<{ id: number }>(
        `select id from file where column_id = $1 and created_at < now() - $2 * interval '1 ms' for update skip locked`,
        [group.column_id, ageMs],
      );
      const ids = locked.map((row) => row.id);
      for (let at = 0; at < ids.length; at += batchSize) {
        const removed = await tx.query<{ uuid: string }>(
          `delete from file f where f.id = any($1::bigint[]) and not ${listedSql(group)} returning uuid`,
          [ids.slice(at, at + batchSize)],
        );
        uuids.push(...removed.map((row) => row.uuid));
      }
      return uuids;
    });
  } catch (error) {
    // 42P01 undefined_table, 42703 undefined_column: the layer or column was just deleted, with its files.
    const { code } = error as { code?: string };
    if (code === "42P01" || code === "42703") return [];
    throw error;
  }
}

function listedSql({ layer_id, column_id, type, localized_value }: Group): string {
  if (type !== "file") return "false";
  const column = `o.c${Math.trunc(column_id)}`;
  const condition = localized_value
    ? `exists (select from jsonb_each_text(${column}) e where f.id::text = any(string_to_array(e.value, ',')))`
    : `f.id = any(${column})`;
  return `exists (select from ${layerTable(layer_id)} o where o.svc_id = f.object_id and ${condition})`;
}

/** Deletes blobs of aborted requests and of deleted layers. */
async function sweepBlobs(db: Database, blobs: BlobStore, ageMs: number): Promise<number> {
  let removed = 0;
  for await (const uuids of blobs.olderThan(ageMs)) {
    const rows = await db.query<{ uuid: string }>(
      `select uuid from unnest($1::uuid[]) u (uuid) where not exists (select from file f where f.uuid = u.uuid)
         and not exists (select from raster r where u.uuid in (r.original, r.processed, r.drawn))
         and not exists (select from picture p where p.blob = u.uuid)`,
      [uuids],
    );
    for (const { uuid } of rows) await blobs.delete(uuid);
    removed += rows.length;
  }
  await blobs.removeParts(ageMs);
  return removed;
}

/** Sweeps at regular intervals until stopped. */
export function startFileSweep(db: Database, blobs: BlobStore, log: Log): { stop(): void } {
  const timer = setInterval(() => {
    sweepFiles(db, blobs).catch((error: Error) => log.warn({ err: error }, "files could not be swept"));
  }, intervalMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
