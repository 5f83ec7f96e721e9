import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FolderBlobStore } from "../storage/folder-blob-store.js";
import type { MigrationRow } from "../storage/migrate.js";

/**
 * A folder of backups. Each backup has a folder of its own, named by its time; blobs, which never change, are in one place for
 * all of them, so that a backup copies only what is new.
 *
 *     2026-11-28T02-30-00Z/database     pg_dump's archive of all that is Mapwright's
 *     2026-11-28T02-30-00Z/blobs        keys of the blobs that the database names, and their bytes, a line each
 *     2026-11-28T02-30-00Z/icons, keys  copies of these folders
 *     2026-11-28T02-30-00Z/backup.json  what it is; written last, so that a folder without it is none
 *     files/                            the blobs
 */

const names = { description: "backup.json", blobs: "blobs", database: "database", files: "files" } as const;
/** Folders of the data folder that are copied as they are. */
export const copiedFolders = ["icons", "keys"] as const;
const namePattern = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(?:-\d+)?$/;

/** What a backup is, as `backup.json` has it. */
export interface BackupDescription {
  /** Time at which the database was as it is in there, as ISO 8601. */
  readonly made: string;
  /** Version of the program that made it. */
  readonly program: string;
  /** Id of the installation; null = it had none yet. */
  readonly installation: string | null;
  /** Blobs that the database names. */
  readonly blobs: number;
  /** Those that were copied for it, and their bytes: the others were there before. */
  readonly copied: number;
  readonly copiedBytes: number;
  readonly databaseBytes: number;
  /** Migrations that the database has seen. */
  readonly migrations: readonly MigrationRow[];
}

export interface Backup extends BackupDescription {
  readonly name: string;
}

export interface NotedBlob {
  readonly key: string;
  /** Undefined while the backup is being made. */
  readonly bytes?: number | undefined;
}

export class BackupFolder {
  readonly blobs: FolderBlobStore;

  constructor(readonly path: string) {
    this.blobs = new FolderBlobStore(join(path, names.files));
  }

  databaseOf = (name: string): string => join(this.path, name, names.database);

  folderOf = (name: string, folder: string): string => join(this.path, name, folder);

  /** Makes the folder of a new backup. @returns its name */
  async begin(now: Date): Promise<string> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const name = `${now.toISOString().slice(0, 19).replaceAll(":", "-")}Z`;
    for (let number = 1; ; number++) {
      const unique = number === 1 ? name : `${name}-${number}`;
      try {
        await mkdir(join(this.path, unique), { mode: 0o700 });
        return unique;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
  }

  /** Notes which blobs a backup has, before they are copied, as none of them is removed from then on; and again with their bytes. */
  async noteBlobs(name: string, blobs: readonly NotedBlob[]): Promise<void> {
    const text = blobs.map(({ key, bytes }) => `${key}${bytes === undefined ? "" : ` ${bytes}`}\n`).join("");
    await writeFile(join(this.path, name, names.blobs), text, { mode: 0o600 });
  }

  async blobsOf(name: string): Promise<NotedBlob[]> {
    const lines = (await readFile(join(this.path, name, names.blobs), "utf8")).split("\n").filter(Boolean);
    return lines.map((line) => {
      const [key = "", bytes] = line.split(" ");
      return { key, bytes: bytes === undefined ? undefined : Number(bytes) };
    });
  }

  /** The backup is whole. */
  async finish(name: string, description: BackupDescription): Promise<void> {
    const target = join(this.path, name, names.description);
    const part = `${target}.${randomUUID()}`;
    await writeFile(part, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600, flush: true });
    await rename(part, target);
  }

  /** The oldest first. `damaged`: names of those whose description cannot be understood. */
  async list(): Promise<{ readonly whole: readonly Backup[]; readonly damaged: readonly string[] }> {
    const whole: Backup[] = [];
    const damaged: string[] = [];
    for (const name of await this.names()) {
      const text = await readFile(join(this.path, name, names.description), "utf8").catch(unlessMissing);
      if (text === undefined) continue;
      const description = parsed(text);
      if (description) whole.push({ ...description, name });
      else damaged.push(name);
    }
    return { whole, damaged };
  }

  /** Names of all folders of backups, also of those that are not whole. */
  async names(): Promise<string[]> {
    return ((await readdir(this.path).catch(unlessMissing)) ?? [])
      .filter((name) => namePattern.test(name))
      .sort();
  }

  /** Milliseconds since a folder was begun. */
  async ageOf(name: string): Promise<number> {
    return Date.now() - (await stat(join(this.path, name))).mtimeMs;
  }
}

function parsed(text: string): BackupDescription | undefined {
  try {
    return JSON.parse(text) as BackupDescription;
  } catch {
    return undefined;
  }
}

/** What cannot be read for another reason is there all the same. */
export function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
