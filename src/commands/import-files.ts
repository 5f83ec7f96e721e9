import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, constants, mkdir, readdir } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Config } from "../config.js";
import { sidecarExtensions } from "../hosts/import-messages.js";
import type { ImportFile } from "../import/import-request.js";
import { removeQuietly } from "../remove-quietly.js";
import { type CommandEnvironment, CommandError } from "./environment.js";

/** The files that the command imports. */

interface SourceFiles {
  readonly list: readonly ImportFile[];
  /** Removes what was made for the import. */
  remove(): Promise<void>;
}

/**
 * @param file a path; or `-` for standard input, whose format is the extension `format`
 * @throws CommandError when the file cannot be read; the reason of the signal
 */
export async function sourceFiles(
  env: CommandEnvironment,
  config: Pick<Config, "dataDir">,
  { file, format, signal }: { readonly file: string; readonly format?: string; readonly signal: AbortSignal },
): Promise<SourceFiles> {
  if (file === "-") return storedInput(env, join(config.dataDir, "tmp"), { format: format ?? "", signal });
  const path = resolve(file);
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      error.code === "ENOENT"
        ? `There is no file ${path}.`
        : `The file ${file} cannot be read: ${error.message}`,
    );
  });
  const others = await sidecarsOf(path);
  return { list: [path, ...others].map((path) => ({ path, name: path })), remove: async () => undefined };
}

/** Files in the same folder that belong to the file, whatever the case of their names. */
async function sidecarsOf(path: string): Promise<string[]> {
  const extension = extname(path);
  const stem = basename(path, extension).toLowerCase();
  const wanted = (sidecarExtensions[extension.slice(1).toLowerCase()] ?? []).map(
    (other) => `${stem}.${other}`,
  );
  if (wanted.length === 0) return [];
  const names = await readdir(dirname(path));
  return names.filter((name) => wanted.includes(name.toLowerCase())).map((name) => join(dirname(path), name));
}

async function storedInput(
  env: CommandEnvironment,
  folder: string,
  { format, signal }: { readonly format: string; readonly signal: AbortSignal },
): Promise<SourceFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The server sweeps the folder of files with this prefix that were left behind.
  const path = join(folder, `upload-${randomBytes(12).toString("hex")}`);
  const remove = () => removeQuietly(path);
  try {
    await pipeline(env.stdin, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
  } catch (error) {
    await remove();
    signal.throwIfAborted();
    throw error;
  }
  return { list: [{ path, name: `input.${format.replace(/^\./, "")}` }], remove };
}
