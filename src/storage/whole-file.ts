import { randomUUID } from "node:crypto";
import { open, rename } from "node:fs/promises";
import { removeQuietly } from "../remove-quietly.js";

/** Files that are being written, or were when their writer ended, have this at their end. */
export const partSuffix = ".part";

/** Writes a file that has its name when all of it is on disk. When it throws, nothing is left. */
export async function writeWholeFile(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  target: string,
): Promise<void> {
  // Of a name of its own: another writer may be at it, or may have ended in the middle.
  const part = `${target}.${randomUUID()}${partSuffix}`;
  try {
    const handle = await open(part, "wx", 0o600);
    try {
      for await (const chunk of chunks) await handle.appendFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, target);
  } catch (error) {
    await removeQuietly(part);
    throw error;
  }
}
