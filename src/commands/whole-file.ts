import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type FileHandle, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CommandError } from "./environment.js";

/**
 * Writes a file that is there when all of it is: it gets its name at the end, in the place of what had that name. A
 * failure leaves what was there.
 * @param make is called once the file can be written
 * @param signal ends it, with nothing left behind at once, whatever `make` still waits for
 * @throws CommandError when it cannot; what `make` and its chunks throw; the signal's reason
 */
export async function writeWholeFile(
  file: string,
  make: () => Promise<AsyncIterable<string | Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  const { path, mode } = await targetOf(file);
  const part = join(dirname(path), `.mapwright-${randomBytes(6).toString("hex")}.part`);
  // Now, since the process may not live until the work has come to its end.
  const remove = () => rmSync(part, { force: true });
  let handle: FileHandle | undefined;
  try {
    handle = await open(part, "wx");
    signal.addEventListener("abort", remove);
    signal.throwIfAborted();
    // Who may read it stays as it was.
    if (mode !== undefined) await handle.chmod(mode);
    await writeFile(handle, await make());
    // Else a crash could leave the name with nothing behind it.
    await handle.sync();
    await handle.close();
    handle = undefined;
    signal.throwIfAborted();
    await rename(part, path);
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await rm(part, { force: true }).catch(() => undefined);
    throw isFileError(error) ? new CommandError(`${file} cannot be written: ${error.message}.`) : error;
  } finally {
    signal.removeEventListener("abort", remove);
  }
}

/** The file behind links with its permissions, if there is one already. */
async function targetOf(file: string): Promise<{ readonly path: string; readonly mode?: number }> {
  try {
    const path = await realpath(file);
    const found = await stat(path);
    if (found.isFile()) return { path, mode: found.mode & 0o777 };
  } catch {
    // The folder may be missing as well, which opening the file tells.
    return { path: resolve(file) };
  }
  throw new CommandError(`${file} is not an ordinary file, so that nothing can take its place.`);
}

/** Whether the file system refused something; a connection's failures have other calls. */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  ["open", "fchmod", "write", "writev", "fsync", "close", "rename"].includes(
    String((error as NodeJS.ErrnoException).syscall),
  );
