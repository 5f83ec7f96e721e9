import { copyFile, link, mkdir, mkdtemp, symlink } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { failed } from "../errors.js";
import {
  importFormatList,
  isImportable,
  isRasterExtension,
  sidecarExtensions,
} from "../hosts/import-messages.js";
import { removeQuietly } from "../remove-quietly.js";
import { removeAbandoned } from "../storage/abandoned-files.js";
import type { ImportFile } from "./import-request.js";

/** The private folder of an import: the transfer host finds the files there by names that we make, and unpacks archives there. */

const prefix = "import-";

export interface ImportFolder {
  readonly path: string;
  /** Names of the files in the folder: a number for each name of the client without its extension, and the extension. */
  readonly files: readonly string[];
  /** Of the same files, as the client calls them, without their folders. */
  readonly clientNames: readonly string[];
  /** Sentences on files of the client that are not in the folder. */
  readonly notes: readonly string[];
  /** What the names say; what an archive holds they do not. */
  readonly content: "features" | "image" | "archive";
  remove(): Promise<void>;
}

/** @throws Failure unsupported_format for a name without an extension; import_failed for two files of one name */
export async function makeImportFolder(tempDir: string, files: readonly ImportFile[]): Promise<ImportFolder> {
  const taken = importableOf(files);
  const names = serverNames(taken);
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const path = await mkdtemp(join(tempDir, prefix));
  try {
    for (const [index, file] of taken.entries()) await symlink(resolve(file.path), join(path, names[index]!));
  } catch (error) {
    await removeQuietly(path);
    throw error;
  }
  return {
    path,
    files: names,
    clientNames: taken.map(({ name }) => basename(name.trim())),
    notes: notesOn(files.filter((file) => !taken.includes(file))),
    content: contentOf(names),
    remove: () => removeQuietly(path),
  };
}

/** Files that outlive the request that brought them. */
export interface KeptFiles {
  readonly list: readonly ImportFile[];
  remove(): Promise<void>;
}

/** Keeps uploaded files, which are removed after the reply, for an import that runs then. */
export async function keepFiles(tempDir: string, files: readonly ImportFile[]): Promise<KeptFiles> {
  const folder = await mkdtemp(join(tempDir, prefix));
  const remove = () => removeQuietly(folder);
  try {
    const list: ImportFile[] = [];
    for (const [index, { path, name }] of files.entries()) {
      const kept = join(folder, String(index));
      await link(path, kept).catch(() => copyFile(path, kept));
      list.push({ path: kept, name });
    }
    return { list, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function contentOf(names: readonly string[]): ImportFolder["content"] {
  const extensions = names.map((name) => extname(name).slice(1));
  if (extensions.includes("zip")) return "archive";
  const image = extensions.find(isRasterExtension);
  const isAlone = extensions.every(
    (extension) => extension === image || sidecarExtensions[image ?? ""]?.includes(extension),
  );
  return image !== undefined && isAlone ? "image" : "features";
}

/**
 * The files that are of import formats or belong to one; all files when there is none, since errors name their types. A
 * `.txt` beside others tells about them; alone it is a table.
 */
function importableOf(files: readonly ImportFile[]): readonly ImportFile[] {
  const extension = ({ name }: ImportFile) => extname(name.trim()).slice(1).toLowerCase();
  const importable = files.filter((file) => isImportable(extension(file)));
  const data = importable.filter((file) => extension(file) !== "txt");
  return [data, importable, files].find((list) => list.length > 0) ?? [];
}

function notesOn(ignored: readonly ImportFile[]): string[] {
  if (ignored.length === 0) return [];
  const names = ignored.map(({ name }) =>
    JSON.stringify(
      basename(name)
        .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
        .slice(-100),
    ),
  );
  return [`Files that were not read: ${names.join(", ")}.`];
}

function serverNames(files: readonly ImportFile[]): string[] {
  const stems: string[] = [];
  const names = files.map(({ name }) => {
    const extension = extensionOf(name);
    const stem = name
      .trim()
      .slice(0, -extension.length - 1)
      .toLowerCase();
    if (!stems.includes(stem)) stems.push(stem);
    return `${stems.indexOf(stem)}.${extension}`;
  });
  if (new Set(names).size < names.length) throw failed("import_failed", "Two files have the same name.");
  return names;
}

/** The extension of the client's file name, in lower case. @throws Failure unsupported_format when there is none */
function extensionOf(name: string): string {
  const extension = /\.([A-Za-z0-9]{1,10})$/.exec(name.trim())?.[1];
  if (extension === undefined) {
    throw failed(
      "unsupported_format",
      `The name of the file has no extension that tells its format: ${importFormatList}.`,
    );
  }
  return extension.toLowerCase();
}

/** Removes folders that a killed server left behind. */
export const sweepImportFolders = (tempDir: string): Promise<void> => removeAbandoned(tempDir, prefix);
