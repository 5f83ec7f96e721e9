import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** PostgreSQL's own programs for backups: pg_dump, pg_restore, psql. */

/** Where Debian keeps them, by version; others have them in PATH. */
const debianRoot = "/usr/lib/postgresql";
/** What is kept of what a program says. */
const mostSaid = 2_000;

function programPath(name: string): string {
  const versions = (existsSync(debianRoot) ? readdirSync(debianRoot) : [])
    .map(Number)
    .filter((version) => existsSync(join(debianRoot, String(version), "bin", name)))
    .sort((one, other) => other - one);
  return versions[0] === undefined ? name : join(debianRoot, String(versions[0]), "bin", name);
}

/** An address of PostgreSQL without its password, which others would see in the list of processes, and that password. */
function withoutPassword(url: string): {
  readonly address: string;
  readonly password: string | undefined;
} {
  const [, start, password, rest] = /^(\w+:\/\/[^:@/]*):([^@/]*)(@.*)$/s.exec(url) ?? [];
  return start === undefined
    ? { address: url, password: undefined }
    : { address: `${start}${rest}`, password: decodeURIComponent(password!) };
}

/**
 * Runs one of the programs to its end.
 * @param url of the database; undefined = it needs none
 * @throws Error with what it said last; the signal's reason
 */
export async function runPostgres(
  name: "pg_dump" | "pg_restore" | "psql",
  args: readonly string[],
  { url, signal }: { readonly url?: string; readonly signal: AbortSignal },
): Promise<void> {
  const { address, password } = withoutPassword(url ?? "");
  const child = spawn(programPath(name), url === undefined ? args : [...args, `--dbname=${address}`], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      ...(password !== undefined && { PGPASSWORD: password }),
      PGOPTIONS: "-c client_min_messages=warning",
    },
    signal,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-mostSaid);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new Error(`The program ${name} is missing: install Debian's package postgresql-client.`)
          : error,
      ),
    );
    child.once("close", resolve);
  }).catch((error) => {
    signal.throwIfAborted();
    throw error;
  });
  if (code !== 0) throw new Error(`${name} failed: ${said.trim() || `exit status ${code}`}`);
}
