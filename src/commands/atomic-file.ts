import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type FileHandle, open, realpath, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { removeQuietly } from "../remove-quietly.js";
import { CommandError } from "./environment.js";

/**
 * Writes a file under a temporary name and renames it when it is complete. After a failure an existing file is as it
 * was.
 * @param make makes the content; it is called when the temporary file is open
 * @param signal aborts the write; the temporary file is removed at once, even while `make` is still running
 * @throws CommandError when the file cannot be written; what `make` and its chunks throw; the signal's reason
 */
export async function writeFileAtomically(
  file: string,
  make: () => Promise<AsyncIterable<string | Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  const { path, mode } = await targetOf(file);
  const part = join(dirname(path), `.mapwright-${randomBytes(6).toString("hex")}.part`);
  // At once, since the process may end before the work does.
  const remove = () => rmSync(part, { force: true });
  let handle: FileHandle | undefined;
  try {
    handle = await open(part, "wx");
    signal.addEventListener("abort", remove);
    signal.throwIfAborted();
    // The permissions of the replaced file are kept.
    if (mode !== undefined) await handle.chmod(mode);
    await writeFile(handle, await make());
    // Otherwise a crash after the rename could leave an empty file.
    await handle.sync();
    await handle.close();
    handle = undefined;
    signal.throwIfAborted();
    await rename(part, path);
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await removeQuietly(part);
    throw isFileError(error)
      ? new CommandError(`${file} cannot be written: ${reasonOf(error, path)}.`)
      : error;
  } finally {
    signal.removeEventListener("abort", remove);
  }
}

/** The path with symbolic links resolved, and the permissions of an existing file. */
async function targetOf(file: string): Promise<{ readonly path: string; readonly mode?: number }> {
  try {
    const path = await realpath(file);
    const found = await stat(path);
    if (found.isFile()) return { path, mode: found.mode & 0o777 };
  } catch {
    // If the folder is missing too, opening the file fails.
    return { path: resolve(file) };
  }
  throw new CommandError(`${file} is not an ordinary file, so that nothing can take its place.`);
}

/** Without the name of the temporary file, which nobody knows. */
const reasonOf = ({ code, message }: NodeJS.ErrnoException, path: string): string =>
  code === "ENOENT" ? `there is no folder ${dirname(path)}` : message.replace(/, \w+ '.*$/s, "");

/** Whether the error comes from the file system; errors of connections have other system calls. */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  ["open", "fchmod", "write", "writev", "fsync", "close", "rename"].includes(
    String((error as NodeJS.ErrnoException).syscall),
  );
