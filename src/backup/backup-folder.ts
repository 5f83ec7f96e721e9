import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { parseBlobAddress, problemOfBlobAddress } from "../blob-address.js";
import { awsSettings } from "../config.js";
import { type BlobStore, isUuid } from "../storage/blob-store.js";
import { FolderBlobStore } from "../storage/folder-blob-store.js";
import type { MigrationRow } from "../storage/migrate.js";
import { FolderFiles, type NamedFiles, textOf } from "../storage/named-files.js";

/**
 * A folder of backups, on this machine or below a prefix of an S3 store. Each backup has a folder of its own, named by its time; blobs, which never change, are in one place for
 * all of them, so that a backup copies only what is new.
 *
 *     2026-11-28T02-30-00Z/database     pg_dump's archive of all that is Mapwright's
 *     2026-11-28T02-30-00Z/blobs        keys of the blobs that the database names, and their bytes, a line each
 *     2026-11-28T02-30-00Z/icons, keys  copies of these folders
 *     2026-11-28T02-30-00Z/backup.json  what it is; written last, so that a folder without it is none
 *     files/                            the blobs
 */

const names = { description: "backup.json", blobs: "blobs", database: "database", files: "files" } as const;
const namePattern = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(?:-\d+)?$/;

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

const count = z.int().min(0);
/** What is written there goes to terminals, too. */
const description: z.ZodType<BackupDescription> = z.object({
  made: z.iso.datetime(),
  program: z.string().regex(/^[\x20-\x7e]*$/),
  installation: z.string().refine(isUuid).nullable(),
  blobs: count,
  copied: count,
  copiedBytes: count,
  databaseBytes: count,
  migrations: z.array(z.object({ name: z.string().regex(/^[\x20-\x7e]*$/), expands: z.boolean() })),
});

export interface Backup extends BackupDescription {
  readonly name: string;
}

export interface NotedBlob {
  readonly key: string;
  /** Undefined while the backup is being made. */
  readonly bytes?: number | undefined;
}

export class BackupFolder {
  /** @param path as people name it */
  constructor(
    readonly path: string,
    readonly files: NamedFiles,
    readonly blobs: BlobStore,
  ) {}

  databaseOf = (name: string): string => `${name}/${names.database}`;

  /** Begins a backup, which is later than all others by its name, too. @returns its name */
  async begin(): Promise<string> {
    const there = await this.files.folders();
    for (;;) {
      const now = Date.now();
      const name = `${new Date(now).toISOString().slice(0, 19).replaceAll(":", "-")}Z`;
      if (!there.some((other) => other.startsWith(name))) {
        await this.noteBlobs(name, []);
        return name;
      }
      await sleep(1_000 - (now % 1_000));
    }
  }

  /** Notes which blobs a backup has, before they are copied, as none of them is removed from then on; and again with their bytes. */
  async noteBlobs(name: string, blobs: readonly NotedBlob[]): Promise<void> {
    const text = blobs.map(({ key, bytes }) => `${key}${bytes === undefined ? "" : ` ${bytes}`}\n`).join("");
    await this.files.write(`${name}/${names.blobs}`, [Buffer.from(text)]);
  }

  /** The blobs of a backup that is whole; undefined where their list is not. */
  async wholeBlobsOf({ name, blobs }: Pick<Backup, "name" | "blobs">): Promise<NotedBlob[] | undefined> {
    const noted = (await this.blobsOf(name)) ?? [];
    const isWhole = noted.length === blobs && noted.every(({ key, bytes }) => isUuid(key) && bytes! >= 0);
    return isWhole ? noted : undefined;
  }

  /** Undefined where it has not noted any yet. */
  async blobsOf(name: string): Promise<NotedBlob[] | undefined> {
    const text = await textOf(this.files, `${name}/${names.blobs}`);
    return text
      ?.split("\n")
      .filter(Boolean)
      .map((line) => {
        const [key = "", bytes] = line.split(" ");
        return { key, bytes: bytes === undefined ? undefined : Number(bytes) };
      });
  }

  /** The backup is whole. */
  async finish(name: string, description: BackupDescription): Promise<void> {
    const text = `${JSON.stringify(description, null, 2)}\n`;
    await this.files.write(`${name}/${names.description}`, [Buffer.from(text)]);
  }

  /** The oldest first. `damaged`: names of those whose description cannot be understood. */
  async list(): Promise<{ readonly whole: readonly Backup[]; readonly damaged: readonly string[] }> {
    const whole: Backup[] = [];
    const damaged: string[] = [];
    for (const name of await this.names()) {
      const text = await textOf(this.files, `${name}/${names.description}`);
      if (text === undefined) continue;
      const description = parsed(text);
      if (description) whole.push({ ...description, name });
      else damaged.push(name);
    }
    return { whole, damaged };
  }

  /** Names of all folders of backups, also of those that are not whole. */
  async names(): Promise<string[]> {
    return (await this.files.folders()).filter((name) => namePattern.test(name)).sort();
  }
}

/** The backups in a folder, or at an address such as `s3://bucket/prefix`. @throws Error for a wrong address */
export async function openBackups(target: string): Promise<BackupFolder> {
  if (!target.startsWith("s3:"))
    return new BackupFolder(target, new FolderFiles(target), new FolderBlobStore(join(target, names.files)));
  const problem = problemOfBlobAddress(target);
  if (problem !== undefined) throw new Error(`${target}: expected ${problem}.`);
  const address = parseBlobAddress(target);
  const aws = awsSettings();
  // Amazon's client takes a tenth of a second to load.
  const { S3BlobStore } = await import("../storage/s3-blob-store.js");
  const { S3NamedFiles } = await import("../storage/s3-named-files.js");
  const blobs = new S3BlobStore({
    address: { ...address, prefix: `${address.prefix}${names.files}/` },
    aws,
    // Nobody asks for any.
    copies: { folder: tmpdir(), bytes: 0 },
  });
  return new BackupFolder(target, new S3NamedFiles({ address, aws }), blobs);
}

/** Milliseconds since a backup of that name was begun. */
export function ageOf(name: string): number {
  const [, day, hours, minutes, seconds] = namePattern.exec(name)!;
  return Date.now() - Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
}

function parsed(text: string): BackupDescription | undefined {
  try {
    return description.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
