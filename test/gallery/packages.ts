import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../as-started/installation.js";

/** Unpacks packages of npm and of Debian to have their data. Nothing of them is installed, and none of their programs is run. */

/** Those of Debian's the system's own `apt-get` gives; it has one version of each. */
const registries = {
  npm: {
    fetch: (name: string) => ["npm", "pack", "--silent", "--ignore-scripts", name],
    unpack: (file: string, folder: string) => ["tar", "-xzf", file, "-C", folder, "--strip-components=1"],
  },
  debian: {
    fetch: (name: string) => ["apt-get", "download", "-q", name],
    unpack: (file: string, folder: string) => ["dpkg", "-x", file, folder],
  },
} as const;

export type Registry = keyof typeof registries;

async function done(command: readonly string[], cwd: string): Promise<void> {
  const { status, stdout, stderr } = await run(command, { cwd });
  if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr}${stdout}`);
}

/**
 * @param folder of all unpacked packages; what is there already is taken
 * @returns where the package is
 * @throws where the registry does not give it
 */
export async function unpacked(folder: string, registry: Registry, name: string): Promise<string> {
  const at = join(folder, name);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).includes(name)) return at;
  const part = `${at}.part`;
  const content = join(part, "content");
  await rm(part, { recursive: true, force: true });
  await mkdir(content, { recursive: true });
  const { fetch, unpack } = registries[registry];
  await done(fetch(name), part);
  const file = (await readdir(part)).find((entry) => entry !== "content");
  if (file === undefined) throw new Error(`There is no file of ${name}.`);
  await done(unpack(file, content), part);
  await rename(content, at);
  await rm(part, { recursive: true });
  return at;
}
