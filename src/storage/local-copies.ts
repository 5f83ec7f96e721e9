import { rmSync } from "node:fs";
import { access, link, mkdir, readdir, rename, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { removeQuietly } from "../remove-quietly.js";
import { isUuid } from "./blob-store.js";
import { exactBytes } from "./exact-bytes.js";
import { ownFolder, processFolders } from "./process-folders.js";
import { writeWholeFile } from "./whole-file.js";

/** Where blobs that lie elsewhere come from. */
export interface BlobSource {
  /** @throws BlobNotFound */
  size(key: string): Promise<number>;
  /** @throws BlobNotFound */
  read(key: string): AsyncIterable<Uint8Array>;
}

/** What a process that is used has not touched for so long is nobody's. */
const abandonedMs = 86_400_000;
const touchMs = 3_600_000;

interface Copy {
  bytes: number;
  /** Who needs the file now. */
  users: number;
  isThere: boolean;
  /** Resolves when the file is there; rejects when it cannot be had. */
  placed: Promise<void>;
}

/**
 * Files of this machine with the bytes of blobs, up to a number of bytes: those not used for longest go first. The folder is
 * the process's own. What another process of the machine has is linked and not fetched again, and what a process that is
 * gone has left is taken over by the next one.
 */
export class LocalCopies {
  /** By key, from the one not used for longest to the last used one. */
  private readonly copies = new Map<string, Copy>();
  private bytes = 0;
  private opening: Promise<string> | undefined;
  private touched = Number.NEGATIVE_INFINITY;

  /** @param maxBytes on disk, in each process; more only as long as all of it is used */
  constructor(
    private readonly parent: string,
    private readonly maxBytes: number,
    private readonly source: BlobSource,
  ) {}

  /** Calls `use` with the path of a file that is there until it has ended. @throws BlobNotFound; what `use` throws */
  async with<T>(key: string, use: (path: string) => Promise<T>): Promise<T> {
    const folder = await this.open();
    const path = join(folder, key);
    await this.touch(folder);
    const copy = await this.hold(folder, key);
    try {
      await copy.placed;
      return await use(path);
    } finally {
      copy.users--;
      this.trim(folder);
    }
  }

  /** Removes a file whose blob is gone. */
  async forget(key: string): Promise<void> {
    const copy = this.copies.get(key);
    if (!copy) return;
    await copy.placed.catch(() => undefined);
    this.drop(await this.open(), key, copy);
  }

  private async hold(folder: string, key: string): Promise<Copy> {
    const known = this.copies.get(key);
    if (known) {
      known.users++;
      this.copies.delete(key);
      this.copies.set(key, known);
      // Who tidies up the disk by hand takes a picture from a map for ever, else.
      if (!known.isThere || (await exists(join(folder, key)))) return known;
      known.users--;
      if (this.copies.get(key) !== known) return this.hold(folder, key);
      this.drop(folder, key, known);
    }
    const copy: Copy = { bytes: 0, users: 1, isThere: false, placed: Promise.resolve() };
    this.copies.set(key, copy);
    copy.placed = this.place(folder, key, copy).then(
      () => {
        copy.isThere = true;
      },
      (error: unknown) => {
        this.drop(folder, key, copy);
        throw error;
      },
    );
    return copy;
  }

  private async place(folder: string, key: string, copy: Copy): Promise<void> {
    const bytes = await this.source.size(key);
    if (this.copies.get(key) === copy) {
      copy.bytes = bytes;
      this.bytes += bytes;
    }
    this.trim(folder);
    const path = join(folder, key);
    for (const other of (await processFolders(this.parent)).used)
      if (await linked(join(other, key), path, bytes)) return;
    await writeWholeFile(exactBytes(this.source.read(key), bytes), path);
  }

  private drop(folder: string, key: string, copy: Copy): void {
    if (this.copies.get(key) !== copy) return;
    this.copies.delete(key);
    this.bytes -= copy.bytes;
    // At once, so that it cannot go after it is placed anew.
    rmSync(join(folder, key), { force: true });
  }

  private trim(folder: string): void {
    for (const [key, copy] of this.copies) {
      if (this.bytes <= this.maxBytes) return;
      if (copy.users === 0 && copy.isThere) this.drop(folder, key, copy);
    }
  }

  /** Shows others that it is used. */
  private async touch(folder: string): Promise<void> {
    const now = Date.now();
    if (now - this.touched < touchMs) return;
    this.touched = now;
    // Another machine may have taken it for abandoned.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await utimes(folder, now / 1_000, now / 1_000);
  }

  private open(): Promise<string> {
    this.opening ??= this.prepare().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async prepare(): Promise<string> {
    const folder = await ownFolder(this.parent);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { left, others } = await processFolders(this.parent);
    for (const one of left) await this.takeOver(one, folder);
    for (const one of others) if (await isOlder(one, abandonedMs)) await removeQuietly(one);
    this.trim(folder);
    return folder;
  }

  /** Moves the files of a process that is gone. Another process may do the same. */
  private async takeOver(left: string, folder: string): Promise<void> {
    for (const key of (await readdir(left).catch(() => [])).filter(isUuid)) {
      const path = join(folder, key);
      try {
        await rename(join(left, key), path);
        const { size } = await stat(path);
        if (this.copies.has(key)) continue;
        this.copies.set(key, { bytes: size, users: 0, isThere: true, placed: Promise.resolve() });
        this.bytes += size;
      } catch {
        // The other one has it.
      }
    }
    await removeQuietly(left);
  }
}

const isOlder = (path: string, ms: number): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > ms,
    () => false,
  );

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Gives a whole file another name. */
async function linked(file: string, path: string, bytes: number): Promise<boolean> {
  try {
    await link(file, path);
    if ((await stat(path)).size === bytes) return true;
    await removeQuietly(path);
  } catch {
    // It is not there, or has just gone; or the file system has no links.
  }
  return false;
}
