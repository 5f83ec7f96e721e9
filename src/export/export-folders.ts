import { mkdir, mkdtemp, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { removeAbandoned } from "../storage/abandoned-files.js";

/** Folders of exports that are written to files first. Each is private to its export and removed with it. */

const prefix = "export-";

/** The folder that holds them and nothing else. */
export const exportsFolder = (dataDir: string): string => join(dataDir, "exports");

/** Makes an empty folder in `parent`. */
export async function makeExportFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return mkdtemp(join(parent, prefix));
}

/** Bytes of the files in all folders of exports in `parent`. */
export async function exportedBytes(parent: string): Promise<number> {
  let bytes = 0;
  for (const folder of await exportFolders(parent)) {
    for (const name of await readdir(folder).catch(() => []))
      bytes += await stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}

/** Removes folders that a killed server left behind. */
export const sweepExportFolders = (parent: string): Promise<void> => removeAbandoned(parent, prefix);

const exportFolders = async (parent: string): Promise<string[]> =>
  (await readdir(parent).catch(() => []))
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(parent, name));
