import { type FileHandle, mkdir, open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Log } from "../log.js";
import type { BlobStore } from "../storage/blob-store.js";
import { partSuffix, writeWholeFile } from "../storage/whole-file.js";
import type { PictureFormat } from "./messages.js";

/**
 * Resized pictures on disk, `<folder>/<xx>/<blob>/<tag>.<format>`, up to a number of bytes: those not used for longest go
 * first. Nodes of one installation share the folder. It is a cache: what fails is logged, and counts as not found.
 */

export interface StoredPicture {
  readonly bytes: Uint8Array;
  readonly format: PictureFormat;
}

/** Names a picture: the blob that it was made from, a hash of its size and format, and the format if it is known. */
export interface PictureName {
  readonly blob: string;
  readonly tag: string;
  readonly format: PictureFormat | undefined;
}

const formats: readonly PictureFormat[] = ["png", "jpeg", "webp", "gif"];
/** A file that is being written longer than this was left by a process that ended. */
const abandonedPartMs = 3_600_000;
/** The time of last use is kept to this precision, so that reading rarely writes. */
const usePrecisionMs = 60_000;
/** What a file takes on disk at least. */
const blockBytes = 4_096;

export class PictureFiles {
  /** Bytes written since the last trim; the first write of a process trims too. */
  private untrimmed = Number.POSITIVE_INFINITY;
  private trimming: Promise<void> | undefined;

  /** @param bytes quota; 0 = nothing is kept. Each node may exceed it by a sixteenth for a short time. */
  constructor(
    private readonly folder: string,
    private readonly bytes: number,
    private readonly log: Log,
  ) {}

  async read({ blob, tag, format }: PictureName): Promise<StoredPicture | undefined> {
    if (this.bytes === 0) return undefined;
    for (const one of format ? [format] : formats) {
      const bytes = await readUsed(join(this.folderOf(blob), `${tag}.${one}`)).catch(() => undefined);
      if (bytes) return { bytes, format: one };
    }
    return undefined;
  }

  /** Keeps a picture. One larger than an eighth of the quota is not kept. */
  async write({ blob, tag }: PictureName, { bytes, format }: StoredPicture): Promise<void> {
    if (sizeOnDisk(bytes.length) > this.bytes / 8) return;
    const path = join(this.folderOf(blob), `${tag}.${format}`);
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeWholeFile([bytes], path);
    } catch (error) {
      this.log.warn({ err: error }, "a resized picture could not be kept on disk");
      return;
    }
    this.untrimmed += sizeOnDisk(bytes.length);
    if (this.untrimmed < this.bytes / 16) return;
    this.trimming ??= this.trim().finally(() => {
      this.trimming = undefined;
    });
    await this.trimming;
  }

  /** Deletes the pictures of a blob. */
  async forget(blob: string): Promise<void> {
    await rm(this.folderOf(blob), { recursive: true, force: true }).catch((error: Error) =>
      this.log.warn({ err: error }, "resized pictures of a deleted file could not be deleted"),
    );
  }

  /** Deletes the pictures that were not used for longest until the others take seven eighths of the quota. */
  private async trim(): Promise<void> {
    this.untrimmed = 0;
    const files = await this.list();
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    files.sort((one, other) => one.usedAt - other.usedAt);
    const now = Date.now();
    for (const { path, bytes, usedAt } of files) {
      const isAbandoned = path.endsWith(partSuffix) && now - usedAt > abandonedPartMs;
      if (total <= (this.bytes / 8) * 7 && !isAbandoned) continue;
      await rm(path, { force: true }).catch(() => undefined);
      // Fails while there are others.
      await rmdir(dirname(path)).catch(() => undefined);
      total -= bytes;
    }
  }

  /** All files, some 130,000 for each half a gibibyte at most. */
  private async list(): Promise<{ path: string; bytes: number; usedAt: number }[]> {
    const files: { path: string; bytes: number; usedAt: number }[] = [];
    for (const prefix of await names(this.folder)) {
      for (const blob of await names(join(this.folder, prefix))) {
        for (const name of await names(join(this.folder, prefix, blob))) {
          const path = join(this.folder, prefix, blob, name);
          const found = await stat(path).catch(() => undefined);
          if (found) files.push({ path, bytes: sizeOnDisk(found.size), usedAt: found.mtimeMs });
        }
      }
    }
    return files;
  }

  private folderOf(blob: string): string {
    return join(this.folder, blob.slice(0, 2), blob);
  }
}

/** The store, whose `delete` also deletes the pictures made of a blob. */
export const withPictureFiles = (store: BlobStore, files: PictureFiles): BlobStore => ({
  put: (source, key) => store.put(source, key),
  size: (key) => store.size(key),
  read: (key, options) => store.read(key, options),
  olderThan: (ageMs) => store.olderThan(ageMs),
  removeParts: (ageMs) => store.removeParts(ageMs),
  withLocalCopy: (key, use) => store.withLocalCopy(key, use),
  delete: async (key) => {
    await store.delete(key);
    await files.forget(key);
  },
  setAside: async (key) => {
    await store.setAside(key);
    await files.forget(key);
  },
  putBack: (key) => store.putBack(key),
  deleteAside: (key) => store.deleteAside(key),
  aside: (ageMs) => store.aside(ageMs),
  mark: () => store.mark(),
  setMark: (installation) => store.setMark(installation),
});

const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

const sizeOnDisk = (bytes: number): number => Math.ceil(bytes / blockBytes) * blockBytes;

/** The content of a file, which is marked as used. */
async function readUsed(path: string): Promise<Uint8Array> {
  const handle = await open(path, "r");
  try {
    await markUsed(handle);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

async function markUsed(handle: FileHandle): Promise<void> {
  const now = Date.now();
  const { mtimeMs } = await handle.stat();
  if (now - mtimeMs > usePrecisionMs) await handle.utimes(now / 1_000, now / 1_000);
}
