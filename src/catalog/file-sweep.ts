import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { BlobStore } from "../storage/blob-store.js";
import { laterMigrations } from "../storage/migrate.js";
import type { Database } from "../storage/postgres.js";
import type { StoreWatch } from "./installation.js";
import { layerTable } from "./layer-table.js";
import { isUnnamedSql } from "./named-blobs.js";

/**
 * Garbage collection: deletes rows of files that no object lists any more, and sets blobs aside that no row names. They are
 * put back when a row names them after all, as when an older state of the database is restored, and deleted in the end.
 */

const intervalMs = 3_600_000;
/** Longer than any request: a blob is stored before its row, and a client may list a file again. */
const minAgeMs = 86_400_000;
/** Longer than it takes to notice that a restored database lacks files. */
const keptAsideMs = 14 * 86_400_000;
const batchSize = 1_000;

interface Group {
  readonly layer_id: number;
  readonly column_id: number;
  readonly type: string;
  readonly localized_value: boolean;
}

export interface SweepAges {
  /** Minimum age of files that are removed and of blobs that are set aside. */
  readonly ageMs?: number;
  /** How long blobs stay aside. */
  readonly keptMs?: number;
}

/**
 * One pass. Stops if another node is sweeping.
 * @returns number of blobs that were set aside
 */
export async function sweepFiles(
  db: Database,
  blobs: BlobStore,
  { ageMs = minAgeMs, keptMs = keptAsideMs }: SweepAges = {},
): Promise<number> {
  await sweepAside(db, blobs, keptMs);
  const groups = await db.query<Group>(
    `select c.layer_id, c.id as column_id, c.type, c.localized_value from layer_column c
     where exists (select from file f where f.column_id = c.id) and to_regclass('layers.l' || c.layer_id) is not null
     order by c.id`,
  );
  let removed = 0;
  for (const group of groups) {
    const gone = await sweepGroup(db, group, ageMs);
    if (!gone) return removed;
    for (const uuid of gone) await blobs.setAside(uuid);
    removed += gone.length;
  }
  return removed + (await sweepBlobs(db, blobs, ageMs));
}

/**
 * Deletes rows of a column's files, some at a time: a request that changes a file waits for one portion, and for one layer.
 * @returns their uuids; undefined when another node is sweeping
 */
async function sweepGroup(db: Database, group: Group, ageMs: number): Promise<string[] | undefined> {
  const removed: string[] = [];
  for (let after = 0; ; ) {
    const portion = await sweepPortion(db, group, { ageMs, after });
    if (!portion) return undefined;
    removed.push(...portion.removed);
    if (portion.last === undefined) return removed;
    after = portion.last;
  }
}

/** @returns uuids of the removed files, and the last id that was looked at; undefined when another node is sweeping */
async function sweepPortion(
  db: Database,
  group: Group,
  { ageMs, after }: { readonly ageMs: number; readonly after: number },
): Promise<{ readonly removed: readonly string[]; readonly last: number | undefined } | undefined> {
  try {
    return await db.transaction(async (tx) => {
      const [lock] = await tx.query<{ free: boolean }>(
        `select pg_try_advisory_xact_lock(${workLock.fileSweep}) as free`,
      );
      if (!lock?.free) return undefined;
      // Two statements: the second sees what writers committed before the first locked the rows.
      const locked = await tx.query<{ id: number }>(
        `select id from file where column_id = $1 and id > $3 and created_at < now() - $2 * interval '1 ms'
         order by id limit ${batchSize} for update skip locked`,
        [group.column_id, ageMs, after],
      );
      const removed = await tx.query<{ uuid: string }>(
        `delete from file f where f.id = any($1::bigint[]) and not ${listedSql(group)} returning uuid`,
        [locked.map(({ id }) => id)],
      );
      return {
        removed: removed.map(({ uuid }) => uuid),
        last: locked.length < batchSize ? undefined : locked.at(-1)!.id,
      };
    });
  } catch (error) {
    // 42P01 undefined_table, 42703 undefined_column: the layer or column was just deleted, with its files.
    const { code } = error as { code?: string };
    if (code === "42P01" || code === "42703") return { removed: [], last: undefined };
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

/** SQL of the keys of a list that no row names. */
const unknownSql = `select uuid from unnest($1::uuid[]) u (uuid) where ${isUnnamedSql("u.uuid")}`;

/** Sets blobs of aborted requests and of deleted layers aside. */
async function sweepBlobs(db: Database, blobs: BlobStore, ageMs: number): Promise<number> {
  let removed = 0;
  for await (const uuids of blobs.olderThan(ageMs)) {
    const rows = await db.query<{ uuid: string }>(unknownSql, [uuids]);
    for (const { uuid } of rows) await blobs.setAside(uuid);
    removed += rows.length;
  }
  await blobs.removeParts(ageMs);
  return removed;
}

/** Puts blobs back that a row names, and deletes those that have been aside for long. */
async function sweepAside(db: Database, blobs: BlobStore, keptMs: number): Promise<void> {
  const old = new Set<string>();
  for await (const uuids of blobs.aside(keptMs)) for (const uuid of uuids) old.add(uuid);
  for await (const uuids of blobs.aside(0)) {
    const unknown = new Set((await db.query<{ uuid: string }>(unknownSql, [uuids])).map(({ uuid }) => uuid));
    for (const uuid of uuids) {
      if (!unknown.has(uuid)) await blobs.putBack(uuid);
      else if (old.has(uuid)) await blobs.deleteAside(uuid);
    }
  }
}

export interface FileSweep {
  /** To be called when the database has another history: it may name what was set aside since. */
  putBack(): void;
  stop(): void;
}

/**
 * Sweeps at regular intervals until stopped. What a restored database names is put back at once. Nothing is done to a store that
 * is not this installation's, nor beside a newer version of the program.
 */
export function startFileSweep(
  db: Database,
  blobs: BlobStore,
  { store, log }: { readonly store: Pick<StoreWatch, "isOurs">; readonly log: Log },
): FileSweep {
  let hasStopped = false;
  const swept = async (pass: () => Promise<unknown>) => {
    try {
      if (hasStopped || !(await store.isOurs())) return;
      // Its tables may name files that are not named by those which are known here.
      const later = await laterMigrations(db);
      if (later.length > 0) log.warn({ later }, "the schema is a newer version's: no file is tidied up");
      else await pass();
    } catch (error) {
      log.warn({ err: error }, "files could not be swept");
    }
  };
  const putBack = () => void swept(() => sweepAside(db, blobs, keptAsideMs));
  putBack();
  const timer = setInterval(() => void swept(() => sweepFiles(db, blobs)), intervalMs);
  timer.unref();
  return {
    putBack,
    stop: () => {
      hasStopped = true;
      clearInterval(timer);
    },
  };
}
