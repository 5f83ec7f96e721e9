import { createReadStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { makeFolder } from "../make-folder.js";
import { partSuffix, writeWholeFile } from "./whole-file.js";

/** Files by names that people know, such as those of backups, in a folder of this machine or an S3 store. */

export interface NamedFile {
  /** Its path from the root, with `/` between the parts. */
  readonly name: string;
  readonly bytes: number;
  /** Differs when the content does. */
  readonly version: string;
}

export interface NamedFiles {
  /** Names of the folders at the root. */
  folders(): Promise<string[]>;
  /** All files below a folder, "" = the root; none where there is no such folder. @throws Error for more than `mostFiles` */
  list(folder: string): Promise<NamedFile[]>;
  /** @throws FileMissing */
  read(name: string): AsyncGenerator<Uint8Array, void, undefined>;
  /** Writes a file as a whole, in the place of one of that name. When it throws, there is no new one. */
  write(name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Removes a folder with all that is in it; one that is gone is fine. */
  remove(folder: string): Promise<void>;
}

export class FileMissing extends Error {
  constructor(name: string, options?: ErrorOptions) {
    super(`There is no file ${name}.`, options);
    this.name = "FileMissing";
  }
}

const mostFiles = 10_000;
const longestName = 200;

/** Whether each part of the path can be a file's or a folder's name, here and in a store. Hidden files are nobody's data. */
export const isFileName = (name: string): boolean =>
  name.split("/").every((part) => part !== "" && part.length <= longestName && !/^\.|[\0\\]/.test(part));

/** @throws Error */
export function requireFileName(name: string): void {
  if (!isFileName(name)) throw new Error(`${JSON.stringify(name)} is no name of a file.`);
}

/** @throws Error */
export function requireFew(files: readonly NamedFile[]): readonly NamedFile[] {
  if (files.length > mostFiles) throw new Error(`There are more than ${mostFiles} files.`);
  return files;
}

/** The text of a small file; undefined where there is none. */
export async function textOf(files: NamedFiles, name: string): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of files.read(name)) chunks.push(chunk);
  } catch (error) {
    if (error instanceof FileMissing) return undefined;
    throw error;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Copies all files of a folder, "" = of the root. */
export async function copyFolder(
  [from, source]: readonly [files: NamedFiles, folder: string],
  [to, target]: readonly [files: NamedFiles, folder: string],
): Promise<void> {
  const start = source === "" ? 0 : source.length + 1;
  for (const { name } of await from.list(source))
    await to.write([target, name.slice(start)].filter(Boolean).join("/"), from.read(name));
}

const unless = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error;
  return undefined;
};

/** Files of a folder of this machine, which need not be there. Errors of the file system are thrown as they are. */
export class FolderFiles implements NamedFiles {
  constructor(private readonly root: string) {}

  async folders(): Promise<string[]> {
    const entries = (await readdir(this.root, { withFileTypes: true }).catch(unless("ENOENT"))) ?? [];
    return entries.filter((entry) => entry.isDirectory() && isFileName(entry.name)).map(({ name }) => name);
  }

  async list(folder: string): Promise<NamedFile[]> {
    const found = await readdir(join(this.root, folder), { recursive: true, withFileTypes: true }).catch(
      unless("ENOENT"),
    );
    const files: NamedFile[] = [];
    for (const entry of found ?? []) {
      const path = join(entry.path, entry.name);
      const name = relative(this.root, path);
      if (entry.isDirectory() || !isFileName(name) || name.endsWith(partSuffix)) continue;
      // A link, too, which systems that hand out secrets use.
      const state = await stat(path).catch(unless("ENOENT"));
      if (!state?.isFile()) continue;
      files.push({ name, bytes: state.size, version: `${state.ino} ${state.size} ${state.mtimeMs}` });
      requireFew(files);
    }
    return files;
  }

  async *read(name: string): AsyncGenerator<Uint8Array, void, undefined> {
    requireFileName(name);
    try {
      yield* createReadStream(join(this.root, name)) as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ENOENT"
        ? new FileMissing(name, { cause: error })
        : error;
    }
  }

  async write(name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    requireFileName(name);
    const path = join(this.root, name);
    await makeFolder(dirname(path));
    await writeWholeFile(content, path);
  }

  async remove(folder: string): Promise<void> {
    requireFileName(folder);
    await rm(join(this.root, folder), { recursive: true, force: true });
  }
}
