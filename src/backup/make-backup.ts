import type pg from "pg";
import { namedBlobsSql } from "../catalog/named-blobs.js";
import type { Config } from "../config.js";
import { workLock } from "../storage/advisory-locks.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import { exactBytes } from "../storage/exact-bytes.js";
import { laterOf, type MigrationRow, migrationsSql } from "../storage/migrate.js";
import { copyFolder } from "../storage/named-files.js";
import { operatorFiles, operatorFolders } from "../storage/operator-files.js";
import type { Database } from "../storage/postgres.js";
import { programBuild } from "../version.js";
import {
  ageOf,
  type Backup,
  type BackupDescription,
  type BackupFolder,
  type NotedBlob,
} from "./backup-folder.js";
import { outputOf } from "./postgres-programs.js";

/**
 * Makes a backup while people work: of the database as it is at one moment, and of all blobs that it names then. Blobs are set aside and
 * not deleted when they are no longer named, for longer than a backup takes.
 */

/** The schemas that are Mapwright's. */
const tableSchemas = ["mapwright", "layers"];
const stagingSchema = "staging";
const schemas = [...tableSchemas, stagingSchema];
/** What was begun longer ago, and is not whole, was broken off. */
const abandonedMs = 86_400_000;

export interface BackupSource {
  readonly config: Pick<Config, "dataDir" | "external" | "blobs" | "blobCopyBytes">;
  readonly db: Pick<Database, "dedicated" | "directUrl">;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  /** Called for each blob, with the number of all. */
  readonly progress: (all: number) => void;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EROFS: "its disk is read-only",
  EEXIST: "it is no folder",
  ENOTDIR: "it is no folder",
};

export interface MadeBackup extends Backup {
  /** Old backups that were removed. */
  readonly removed: number;
}

/**
 * @param keep how many of the newest backups stay; default: all
 * @throws Error when it is not whole, what was copied stays for the next one; when another one is being made
 */
export async function makeBackup(
  folder: BackupFolder,
  source: BackupSource,
  keep?: number,
): Promise<MadeBackup> {
  const client = await source.db.dedicated();
  try {
    // Blobs that one is about to take over must not be removed with old backups.
    const [lock] = (
      await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${workLock.backup}) as ours`)
    ).rows;
    if (!lock!.ours) throw new Error("Another backup of this installation is just being made.");
    await requireOwnBackups(folder, client);
    // Blobs that only old backups had are removed there.
    if ((await folder.blobs.mark()) !== undefined)
      throw new Error(`${folder.path} has the files of an installation: take another place for backups.`);
    const name = await folder.begin().catch((error: NodeJS.ErrnoException) => {
      throw new Error(
        `${folder.path} cannot be used for backups: ${reasons[error.code ?? ""] ?? error.message}.`,
      );
    });
    let description: BackupDescription;
    try {
      description = await fill(folder, name, { ...source, client });
    } catch (error) {
      await folder.files.remove(name).catch(() => undefined);
      throw error;
    }
    // Nodes tell how old it is. Without that it is one all the same.
    await client.query("update mapwright.installation set backed_up_at = now()").catch(() => undefined);
    return { ...description, name, removed: keep === undefined ? 0 : await removeOld(folder, keep, name) };
  } finally {
    await client.end();
  }
}

/** @throws Error where there are backups of another installation: `keep` would remove them */
async function requireOwnBackups(folder: BackupFolder, client: pg.Client): Promise<void> {
  const { whole } = await folder.list().catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `${folder.path} cannot be used for backups: ${reasons[error.code ?? ""] ?? error.message}.`,
    );
  });
  const { rows } = await client.query<{ id: string | null }>("select (select id from installation) as id");
  const own = rows[0]!.id;
  if (!whole.some(({ installation }) => installation !== null && installation !== own)) return;
  throw new Error(`${folder.path} has backups of another installation: take a folder of its own for each.`);
}

async function fill(
  folder: BackupFolder,
  name: string,
  source: BackupSource & { readonly client: pg.Client },
): Promise<BackupDescription> {
  const { client, config } = source;
  const { moment, migrations, keys, databaseBytes } = await dumpAtMoment(folder, name, source);
  await client.query("rollback");
  const { blobs, ...copied } = await copyBlobs(source.blobs, folder.blobs, keys, source);
  await folder.noteBlobs(name, blobs);
  for (const one of operatorFolders)
    await copyFolder([await operatorFiles(config, one), ""], [folder.files, `${name}/${one}`]);
  const description = {
    made: moment.made.toISOString(),
    program: programBuild(),
    installation: moment.installation,
    migrations,
    blobs: keys.length,
    ...copied,
    databaseBytes,
  };
  await folder.finish(name, description);
  return description;
}

/** How long pg_dump waits for its locks, when nobody holds one that is in its way: ms. */
const dumpLockMs = 5_000;

/** Writes the database as it is at one moment, which goes on for the transaction of the client, and notes the blobs that it names. */
async function dumpAtMoment(
  folder: BackupFolder,
  name: string,
  source: BackupSource & { readonly client: pg.Client },
) {
  const { client } = source;
  for (;;) {
    const moment = await beginMoment(client);
    const migrations = (await client.query<MigrationRow>(migrationsSql)).rows;
    if (laterOf(migrations).length > 0)
      throw new Error(
        "The schema is a newer version's, which may have files that this one does not know: back up by that version.",
      );
    const keys = (await client.query<{ key: string }>(namedBlobsSql)).rows.map(({ key }) => key);
    await folder.noteBlobs(
      name,
      keys.map((key) => ({ key })),
    );
    try {
      return { moment, migrations, keys, databaseBytes: await dump(folder, name, moment, source) };
    } catch (error) {
      // Who waits for the locks of this transaction is waited for by pg_dump.
      if (source.signal.aborted || !(await isInTheWay(client))) throw error;
      await client.query("rollback");
    }
  }
}

/** @returns how many bytes were written */
async function dump(
  folder: BackupFolder,
  name: string,
  { snapshot }: Moment,
  { db, signal }: Pick<BackupSource, "db" | "signal">,
): Promise<number> {
  const dumped = outputOf(
    "pg_dump",
    [
      ...schemas.map((schema) => `--schema=${schema}`),
      // Of imports that are under way, which end with their process.
      `--exclude-table=${stagingSchema}.*`,
      ...["--format=custom", `--snapshot=${snapshot}`, `--lock-wait-timeout=${dumpLockMs}`],
    ],
    // The server that has the snapshot, where the address names several.
    { url: db.directUrl, signal },
  );
  let bytes = 0;
  const counting = async function* () {
    for await (const chunk of dumped) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  await folder.files.write(folder.databaseOf(name), counting());
  return bytes;
}

/** Whether somebody waits for the locks of the client's transaction. */
const isInTheWay = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client
    .query("select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))")
    .catch(() => ({ rows: [] }));
  return rows.length > 0;
};

interface Moment {
  readonly snapshot: string;
  readonly made: Date;
  readonly installation: string | null;
}

const tablesSql = `select c.oid::text, format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and c.relkind in ('r', 'p') order by 1`;

/**
 * Begins a transaction that has locked all tables which there are at its moment. Between that moment and pg_dump's own locks a table may
 * be dropped, else, which ends the backup; or be written anew by a change of its columns, and then whoever reads as of before finds
 * no row in it.
 */
async function beginMoment(client: pg.Client): Promise<Moment> {
  const tables = async () =>
    (await client.query<{ oid: string; name: string }>(tablesSql, [tableSchemas])).rows;
  for (;;) {
    const before = await tables();
    await client.query("begin isolation level repeatable read read only");
    try {
      // A transaction that has only locked sees what there is when it has all locks.
      await client.query(`lock table ${before.map(({ name }) => name).join(", ")} in access share mode`);
      const { rows } = await client.query<Moment>(
        "select pg_export_snapshot() as snapshot, now() as made, (select id from installation) as installation",
      );
      const locked = new Set(before.map(({ oid }) => oid));
      if ((await tables()).every(({ oid }) => locked.has(oid))) return rows[0]!;
    } catch (error) {
      if (!mayPass.has((error as pg.DatabaseError).code)) throw error;
    }
    await client.query("rollback");
  }
}

/** SQLSTATE undefined_table, of one that was dropped since, and deadlock_detected. */
const mayPass: ReadonlySet<string | undefined> = new Set(["42P01", "40P01"]);

/** Copies blobs that are not there yet, or not whole. @returns how many, and the bytes of all @throws BlobNotFound */
async function copyBlobs(
  from: BlobStore,
  to: BlobStore,
  keys: readonly string[],
  { signal, progress }: Pick<BackupSource, "signal" | "progress">,
): Promise<{ readonly copied: number; readonly copiedBytes: number; readonly blobs: readonly NotedBlob[] }> {
  let copied = 0;
  let copiedBytes = 0;
  const blobs: NotedBlob[] = [];
  for (const key of keys) {
    signal.throwIfAborted();
    // No longer named since: it is put aside again later.
    if ((await bytesOf(from, key)) === undefined) await from.putBack(key);
    const bytes = await from.size(key);
    if ((await bytesOf(to, key)) !== bytes) {
      await to.put(exactBytes(from.read(key, { signal }), bytes), key);
      copied++;
      copiedBytes += bytes;
    }
    blobs.push({ key, bytes });
    progress(keys.length);
  }
  return { copied, copiedBytes, blobs };
}

/** Undefined where there is none. */
export const bytesOf = (blobs: BlobStore, key: string): Promise<number | undefined> =>
  blobs.size(key).catch((error) => {
    if (error instanceof BlobNotFound) return undefined;
    throw error;
  });

/**
 * Removes all but the newest backups, what was broken off, and blobs that only these had; none while it is not known which one of the
 * others has.
 * @param made stays: the clock may have been set back
 * @returns the number of backups that were removed
 */
async function removeOld(folder: BackupFolder, keep: number, made: string): Promise<number> {
  const list = await folder.list();
  const whole = new Set(list.whole.map(({ name }) => name));
  // Somebody may mend it.
  const damaged = new Set(list.damaged);
  const others = [...whole].filter((name) => name !== made);
  const old = new Set(others.slice(0, Math.max(0, whole.size - keep)));
  for (const name of await folder.names())
    if (old.has(name) || (!whole.has(name) && !damaged.has(name) && ageOf(name) > abandonedMs))
      await folder.files.remove(name);
  const named = new Set<string>();
  for (const name of await folder.names()) {
    const backup = list.whole.find((one) => one.name === name);
    const blobs = await (backup ? folder.wholeBlobsOf(backup) : folder.blobsOf(name));
    // What is just begun may not have noted them yet.
    if (!blobs && (backup || damaged.has(name))) return old.size;
    for (const { key } of blobs ?? []) named.add(key);
  }
  for await (const keys of folder.blobs.olderThan(abandonedMs))
    for (const key of keys) if (!named.has(key)) await folder.blobs.delete(key);
  await folder.blobs.removeParts(abandonedMs);
  return old.size;
}
