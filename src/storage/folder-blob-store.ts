import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { removeQuietly } from "../remove-quietly.js";
import { BlobNotFound, type BlobStore, isUuid, maxChunkBytes, type ReadOptions } from "./blob-store.js";
import { partSuffix, writeWholeFile } from "./whole-file.js";

/** Blobs that are set aside are in this subfolder. */
const asideFolder = "aside";

/** The file that says which installation the folder belongs to. */
const markFile = "installation";

/** How many keys are told at a time. */
const keysAtOnce = 1_000;

/**
 * Blobs as files of a folder: `<folder>/<xx>/<uuid>`, xx being the first two digits. Nodes of one installation share the
 * folder (a network file system where they run on several machines).
 */
export class FolderBlobStore implements BlobStore {
  private readonly folder: string;

  constructor(folder: string) {
    // Paths of blobs go to other processes.
    this.folder = resolve(folder);
  }

  async put(source: string | AsyncIterable<Uint8Array>, key: string = randomUUID()): Promise<string> {
    const target = this.path(key);
    const created = await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      if (typeof source === "string") await moveFile(source, target);
      else await writeWholeFile(source, target);
      // A name is durable when its folder has been synced; the store's own folder has a name, too, when it is new.
      await sync(dirname(target));
      await sync(this.folder);
      if (created === this.folder) await sync(dirname(this.folder));
    } catch (error) {
      await removeQuietly(target);
      throw error;
    }
    return key;
  }

  async size(key: string): Promise<number> {
    return (await stat(this.path(key)).catch(notFound(key))).size;
  }

  async *read(key: string, { range, signal }: ReadOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    signal?.throwIfAborted();
    const handle = await open(this.path(key), "r").catch(notFound(key));
    try {
      const { size } = await handle.stat();
      const end = Math.min(size, range ? range.last + 1 : size);
      for (let position = range?.first ?? 0; position < end; ) {
        signal?.throwIfAborted();
        const chunk = await readAt(handle, position, Math.min(maxChunkBytes, end - position));
        yield chunk;
        position += chunk.length;
      }
    } finally {
      await handle.close();
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.path(key), { force: true });
  }

  async setAside(key: string): Promise<void> {
    await mkdir(join(this.folder, asideFolder), { recursive: true, mode: 0o700 });
    await rename(this.path(key), this.asidePath(key)).catch(unlessMissing);
  }

  async putBack(key: string): Promise<void> {
    await mkdir(dirname(this.path(key)), { recursive: true, mode: 0o700 });
    await rename(this.asidePath(key), this.path(key)).catch(unlessMissing);
  }

  async deleteAside(key: string): Promise<void> {
    await rm(this.asidePath(key), { force: true });
  }

  async *aside(ageMs: number): AsyncGenerator<string[], void, undefined> {
    const folder = join(this.folder, asideFolder);
    const old: string[] = [];
    for (const name of await readdir(folder).catch(() => []))
      if (isUuid(name) && (await ageOf(join(folder, name))) >= ageMs) old.push(name);
    for (let at = 0; at < old.length; at += keysAtOnce) yield old.slice(at, at + keysAtOnce);
  }

  async *olderThan(ageMs: number): AsyncGenerator<string[], void, undefined> {
    for await (const { folder, names } of this.subfolders()) {
      const old: string[] = [];
      for (const name of names)
        if (isUuid(name) && (await ageOf(join(folder, name))) >= ageMs) old.push(name);
      if (old.length > 0) yield old;
    }
  }

  async removeParts(ageMs: number): Promise<void> {
    for await (const { folder, names } of this.subfolders()) {
      for (const name of names) {
        const path = join(folder, name);
        if (name.endsWith(partSuffix) && (await ageOf(path)) >= ageMs) await rm(path, { force: true });
      }
    }
  }

  async mark(): Promise<string | undefined> {
    const text = await readFile(join(this.folder, markFile), "latin1").catch((error) => {
      unlessMissing(error);
      return "";
    });
    return isUuid(text.trim()) ? text.trim() : undefined;
  }

  async setMark(installation: string): Promise<void> {
    const target = join(this.folder, markFile);
    // Another node may do the same.
    const own = `${target}.${randomUUID()}`;
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeWholeFile([Buffer.from(`${installation}\n`)], own);
    await rename(own, target);
    await sync(this.folder);
  }

  /** The blob's own file. */
  async withLocalCopy<T>(key: string, use: (path: string) => Promise<T>): Promise<T> {
    const path = this.path(key);
    await access(path).catch(notFound(key));
    return use(path);
  }

  /** Subfolders, each with the names in it. */
  private async *subfolders(): AsyncGenerator<{ folder: string; names: string[] }, void, undefined> {
    for (const prefix of (await readdir(this.folder).catch(() => [])).sort()) {
      if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
      const folder = join(this.folder, prefix);
      yield { folder, names: await readdir(folder) };
    }
  }

  private path(key: string): string {
    // Also keeps paths within the folder.
    if (!isUuid(key)) throw new Error("A blob's key must be a uuid.");
    return join(this.folder, key.slice(0, 2), key);
  }

  private asidePath(key: string): string {
    if (!isUuid(key)) throw new Error("A blob's key must be a uuid.");
    return join(this.folder, asideFolder, key);
  }
}

/** Milliseconds since a file was changed or renamed; 0 when it is gone. */
const ageOf = (path: string): Promise<number> =>
  stat(path).then(
    // The clock of files may be a little ahead.
    ({ ctimeMs }) => Math.max(0, Date.now() - ctimeMs),
    () => 0,
  );

/** Moves a file; to another file system it is copied. */
async function moveFile(path: string, target: string): Promise<void> {
  await sync(path);
  try {
    await rename(path, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    await writeWholeFile(createReadStream(path, { highWaterMark: maxChunkBytes }), target);
  }
}

/** The next bytes of a file, at least one and at most `length`. @throws Error when there are none */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, position);
  if (bytesRead === 0) throw new Error("A blob's file has become shorter.");
  return buffer.subarray(0, bytesRead);
}

/** Waits until the disk has a file's bytes, or a folder's names. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

function notFound(key: string) {
  return (error: NodeJS.ErrnoException): never => {
    throw error.code === "ENOENT" ? new BlobNotFound(key, { cause: error }) : error;
  };
}
