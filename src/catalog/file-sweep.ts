import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { Database } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";

/** Takes away files that no object lists any more, and blobs that no file names. */

const everyMs = 3_600_000;
/** Longer than any request takes: a blob is there before its row, and a client may list a file again. */
const keptMs = 86_400_000;
const batch = 1_000;

interface Group {
  readonly layer_id: number;
  readonly column_id: number;
  readonly type: string;
  readonly localized_value: boolean;
}

/**
 * One pass; of several nodes only one works at a time.
 * @param ageMs how old what is taken away has to be
 * @returns how many blobs it removed
 */
export async function sweepFiles(db: Database, blobs: BlobStore, ageMs = keptMs): Promise<number> {
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
 * Takes away rows of a column's files, in a transaction of its own: there may be more layers than one has locks for.
 * @returns their uuids; undefined when another node is at it
 */
async function sweepGroup(db: Database, group: Group, ageMs: number): Promise<string[] | undefined> {
  try {
    return await db.transaction(async (tx) => {
      const [lock] = await tx.query<{ free: boolean }>(
        `select pg_try_advisory_xact_lock(${workLock.fileSweep}) as free`,
      );
      if (!lock?.free) return undefined;
      const uuids: string[] = [];
      // Two statements: the second sees what a writer that held one of them has committed meanwhile.
      const held = await tx.query<{ id: number }>(
        `select id from file where column_id = $1 and created_at < now() - $2 * interval '1 ms' for update skip locked`,
        [group.column_id, ageMs],
      );
      const ids = held.map((row) => row.id);
      for (let at = 0; at < ids.length; at += batch) {
        const removed = await tx.query<{ uuid: string }>(
          `delete from file f where f.id = any($1::bigint[]) and not ${listedSql(group)} returning uuid`,
          [ids.slice(at, at + batch)],
        );
        uuids.push(...removed.map((row) => row.uuid));
      }
      return uuids;
    });
  } catch (error) {
    // 42P01 undefined_table, 42703 undefined_column: the layer or the column went a moment ago, and its files with it.
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

/** Blobs of requests that broke off, and of layers that were deleted. */
async function sweepBlobs(db: Database, blobs: BlobStore, ageMs: number): Promise<number> {
  let removed = 0;
  for await (const uuids of blobs.olderThan(ageMs)) {
    const rows = await db.query<{ uuid: string }>(
      "select uuid from unnest($1::uuid[]) u (uuid) where not exists (select from file f where f.uuid = u.uuid)",
      [uuids],
    );
    for (const { uuid } of rows) await blobs.delete(uuid);
    removed += rows.length;
  }
  await blobs.removeParts(ageMs);
  return removed;
}

/** Sweeps now and then until it is stopped. */
export function startFileSweep(db: Database, blobs: BlobStore, log: Log): { stop(): void } {
  const timer = setInterval(() => {
    sweepFiles(db, blobs).catch((error: Error) => log.warn({ err: error }, "files could not be swept"));
  }, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
