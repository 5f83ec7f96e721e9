import { randomUUID } from "node:crypto";
import { cp, mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { BlobStore } from "../storage/blob-store.js";
import { migrate } from "../storage/migrate.js";
import type { Database } from "../storage/postgres.js";
import { type Backup, type BackupFolder, copiedFolders } from "./backup-folder.js";
import { copyBlobs, folderIn } from "./make-backup.js";
import { runPostgres } from "./postgres-programs.js";

/** Puts a backup in the place of what an installation has. Servers that run notice it, and drop what they have cached. */

export interface RestoreTarget {
  readonly config: Pick<Config, "databaseUrl" | "dataDir" | "external">;
  readonly db: Pick<Database, "dedicated" | "query">;
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
 * @throws Error
 */
export async function restoreBackup(
  folder: BackupFolder,
  backup: Backup,
  target: RestoreTarget,
): Promise<void> {
  const { config, signal } = target;
  const { name } = backup;
  const temporary = join(config.dataDir, "tmp");
  const sql = join(temporary, `restore-${randomUUID()}.sql`);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  try {
    // A damaged archive is noticed here.
    await runPostgres("pg_restore", ["--no-owner", `--file=${sql}`, folder.databaseOf(name)], { signal });
    await copyBlobs(folder.blobs, target.blobs, await folder.blobsOf(name), target);
    for (const one of copiedFolders) {
      const from = folder.folderOf(name, one);
      if (await stat(from).catch(() => undefined))
        await cp(from, folderIn(config, one), { recursive: true, preserveTimestamps: true });
    }
    await runPostgres(
      "psql",
      [
        ...["--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"],
        "--command=drop schema if exists mapwright, layers, staging cascade",
        `--file=${sql}`,
      ],
      { url: config.databaseUrl, signal },
    );
    if (backup.installation !== null) await target.blobs.setMark(backup.installation);
  } finally {
    await rm(sql, { force: true });
  }
  const client = await target.db.dedicated();
  try {
    await migrate(client);
    // Maps would be slow until PostgreSQL found out about its tables by itself.
    await client.query("analyze");
  } finally {
    await client.end();
  }
}
