import { randomUUID } from "node:crypto";
import { copyFile, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Bytes of attached files: `<folder>/<xx>/<uuid>`, xx being the first two digits. Nodes of one installation share the
 * folder (a network file system where they run on several machines). A blob is whole from the moment its name exists.
 */
export interface Blobs {
  /**
   * Takes over a temporary file; when it returns, the bytes are on disk for good.
   * @param path on the same file system or another; the file may be gone afterwards
   * @returns the uuid
   */
  adopt(path: string): Promise<string>;
  /** Where the bytes are. @throws Error when `uuid` is none */
  path(uuid: string): string;
  /** One that is gone already is fine. */
  remove(uuid: string): Promise<void>;
  /** Uuids of blobs that have lain for that long, folder by folder. */
  olderThan(ageMs: number): AsyncGenerator<string[], void, undefined>;
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether the text is a uuid as we write them. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

/** Parts of copies that broke off have this at their end. */
const partSuffix = ".part";

export function openBlobs(folder: string): Blobs {
  const place = (uuid: string): string => {
    if (!isUuid(uuid)) throw new Error("This is no uuid.");
    return join(folder, uuid.slice(0, 2), uuid);
  };
  return {
    path: place,
    async adopt(path) {
      const uuid = randomUUID();
      const target = place(uuid);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await sync(path);
      try {
        await rename(path, target);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
        await copyAcross(path, target);
      }
      // The name itself is safe only when its folder is.
      await sync(dirname(target));
      return uuid;
    },
    async remove(uuid) {
      await rm(place(uuid), { force: true });
    },
    async *olderThan(ageMs) {
      for (const prefix of (await readdir(folder).catch(() => [])).sort()) {
        if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
        const old: string[] = [];
        for (const name of await readdir(join(folder, prefix))) {
          const path = join(folder, prefix, name);
          const changed = await stat(path).then(
            (found) => found.ctimeMs,
            () => Date.now(),
          );
          if (Date.now() - changed < ageMs) continue;
          if (isUuid(name)) old.push(name);
          else if (name.endsWith(partSuffix)) await rm(path, { force: true });
        }
        if (old.length > 0) yield old;
      }
    },
  };
}

async function copyAcross(path: string, target: string): Promise<void> {
  const part = `${target}${partSuffix}`;
  try {
    await copyFile(path, part);
    await sync(part);
    await rename(part, target);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
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
