import { randomUUID } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { BlobStore } from "../storage/blob-store.js";
import { exactBytes } from "../storage/exact-bytes.js";
import { migrate, requireKnown } from "../storage/migrate.js";
import { copyFolder } from "../storage/named-files.js";
import { operatorFiles, operatorFolders } from "../storage/operator-files.js";
import type { Database } from "../storage/postgres.js";
import type { Backup, BackupFolder, NotedBlob } from "./backup-folder.js";
import { bytesOf } from "./make-backup.js";
import { runPostgres } from "./postgres-programs.js";

/** Puts a backup in the place of what an installation has. Servers that run notice it, and drop what they have cached. */

/** Of names of temporary files in `tmp` of the data folder. */
export const restorePrefix = "restore-";

export interface RestoreTarget {
  readonly config: Pick<Config, "dataDir" | "external" | "blobs" | "blobCopyBytes">;
  readonly db: Pick<Database, "dedicated" | "query" | "directUrl">;
  readonly blobs: BlobStore;
  readonly signal: AbortSignal;
  /** Called for each blob, with the number of all. */
  readonly progress: (all: number) => void;
}

/** Whether there is anything that a restore would take away: projects, or users. */
export async function isInUse(db: Pick<Database, "query">): Promise<boolean> {
  const [row] = await db.query<{ used: boolean }>(
    "select exists (select from project where not hidden) or exists (select from account) as used",
  );
  return row!.used;
}

/**
 * Files come first, then the database in one transaction: whatever fails, the database is as it was before.
 * @throws Error, when nothing was changed yet also where the store of files is another installation's
 */
export async function restoreBackup(
  folder: BackupFolder,
  backup: Backup,
  target: RestoreTarget,
): Promise<void> {
  const { config, blobs, db, signal } = target;
  const { name } = backup;
  requireKnown(backup.migrations);
  await requireOwnStore(backup, target);
  const noted = await folder.wholeBlobsOf(backup);
  if (!noted) throw new Error(`${damagedText(name)} (its list of files is not whole).`);
  const missing = await missingBlobs(folder, { name, noted }, blobs);
  const temporary = join(config.dataDir, "tmp");
  const sql = join(temporary, `${restorePrefix}${randomUUID()}.sql`);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  try {
    await runPostgres("pg_restore", ["--no-owner", `--file=${sql}`], {
      input: folder.files.read(folder.databaseOf(name)),
      signal,
    }).catch((error: Error) => {
      signal.throwIfAborted();
      throw new Error(`${damagedText(name)} (${error.message}).`, { cause: error });
    });
    for (const { key, bytes } of missing) {
      signal.throwIfAborted();
      await blobs.put(exactBytes(folder.blobs.read(key, { signal }), bytes!), key);
      target.progress(missing.length);
    }
    await requireRestricted(sql);
    await runPostgres(
      "psql",
      [
        ...["--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"],
        "--command=drop schema if exists mapwright, layers, staging cascade",
        `--file=${sql}`,
      ],
      { url: db.directUrl, signal },
    );
  } finally {
    await rm(sql, { force: true });
  }
  try {
    await complete(folder, backup, { ...target, noted });
  } catch (error) {
    throw new Error(
      `The database is restored, but what goes with it is not: ${(error as Error).message}. Mend that, and restore again with --replace.`,
      { cause: error },
    );
  }
}

/**
 * Else psql would run programs that a backup names in the middle of its SQL (CVE-2025-8714).
 * @throws Error when pg_restore is too old to keep it from that
 */
async function requireRestricted(sql: string): Promise<void> {
  const file = await open(sql);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(4_096), position: 0 });
    if (/^\\restrict /m.test(buffer.toString("utf8", 0, bytesRead))) return;
  } finally {
    await file.close();
  }
  throw new Error(
    "This pg_restore would let a backup run programs of this machine: update the package postgresql-client, to 15.14, 16.10, " +
      "17.6 or later. Nothing was changed in the database.",
  );
}

/** What follows when the database is as it was in the backup. */
async function complete(
  folder: BackupFolder,
  { name, installation }: Backup,
  { config, blobs, db, noted }: RestoreTarget & { readonly noted: readonly NotedBlob[] },
): Promise<void> {
  if (installation !== null) await blobs.setMark(installation);
  const client = await db.dedicated();
  try {
    await migrate(client);
    // Maps would be slow until PostgreSQL found out about its tables by itself.
    await client.query("analyze");
  } finally {
    await client.end();
  }
  // A sweep may have set aside meanwhile what the database did not name yet.
  for (const { key } of noted) if ((await bytesOf(blobs, key)) === undefined) await blobs.putBack(key);
  for (const one of operatorFolders)
    await copyFolder([folder.files, `${name}/${one}`], [await operatorFiles(config, one), ""]);
}

/** @throws Error when the store of files belongs neither to the installation of the backup nor to the one that it replaces */
async function requireOwnStore({ installation }: Backup, { blobs, db }: RestoreTarget): Promise<void> {
  const mark = await blobs.mark();
  const [row] = await db.query<{ id: string | null }>("select (select id from installation) as id");
  if (mark === undefined || mark === installation || mark === row!.id) return;
  throw new Error(
    "The store of files belongs to another installation, whose files would be lost: set dataDir, or blobs, to that of this one.",
  );
}

/** Blobs that the store lacks, or has not whole. @throws Error when the backup has them no better */
async function missingBlobs(
  folder: BackupFolder,
  { name, noted }: { readonly name: string; readonly noted: readonly NotedBlob[] },
  blobs: BlobStore,
): Promise<NotedBlob[]> {
  const missing: NotedBlob[] = [];
  for (const blob of noted) {
    if ((await bytesOf(blobs, blob.key)) === blob.bytes) continue;
    if ((await bytesOf(folder.blobs, blob.key)) !== blob.bytes)
      throw new Error(
        `${damagedText(name)} (the file ${blob.key} in the folder files is gone, or not whole).`,
      );
    missing.push(blob);
  }
  return missing;
}

const damagedText = (name: string): string =>
  `The backup ${name} is damaged: take another one by --at. Nothing was changed`;
