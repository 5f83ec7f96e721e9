import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { removeQuietly } from "../remove-quietly.js";

const abandonedMs = 86_400_000;

/**
 * Removes files and folders whose names begin with `prefix`, which a killed server left behind: only those not modified for a
 * day, since other nodes may use the folder.
 */
export async function removeAbandoned(folder: string, prefix: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    const age = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > abandonedMs) await removeQuietly(path);
  }
}
