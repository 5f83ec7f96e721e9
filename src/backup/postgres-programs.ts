import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { withoutPassword } from "../database-hosts.js";

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

export interface ProgramOptions {
  /** Of the database; undefined = it needs none. */
  readonly url?: string;
  readonly signal: AbortSignal;
}

type ProgramName = "pg_dump" | "pg_restore" | "psql";

/** Runs one of the programs to its end. @param input what it reads @throws Error with what it said last; the signal's reason */
export async function runPostgres(
  name: ProgramName,
  args: readonly string[],
  options: ProgramOptions & { readonly input?: AsyncIterable<Uint8Array> },
): Promise<void> {
  const { child, ended } = start(name, args, options);
  child.stdout.resume();
  const fed = feed(child.stdin, options.input);
  await ended;
  await fed;
}

/** What one of the programs writes. @throws Error with what it said last, after all of that; the signal's reason */
export async function* outputOf(
  name: ProgramName,
  args: readonly string[],
  options: ProgramOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { child, ended } = start(name, args, options);
  child.stdin.end();
  try {
    yield* child.stdout as AsyncIterable<Uint8Array>;
    await ended;
  } finally {
    // Nobody reads on.
    child.kill();
  }
}

/** A program that ends before it has read all says why itself. @throws what the source throws */
async function feed(stdin: Writable, input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
  let failure: unknown;
  const source = async function* () {
    try {
      yield* input ?? [];
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  await pipeline(source, stdin).catch(() => undefined);
  if (failure !== undefined) throw failure;
}

function start(name: ProgramName, args: readonly string[], { url, signal }: ProgramOptions) {
  // Others see the arguments in the list of processes.
  const { address, password } = withoutPassword(url ?? "");
  const child = spawn(programPath(name), url === undefined ? args : [...args, `--dbname=${address}`], {
    stdio: ["pipe", "pipe", "pipe"],
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
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new Error(`The program ${name} is missing: install Debian's package postgresql-client.`)
          : error,
      ),
    );
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`${name} failed: ${said.trim() || `exit status ${code}`}`)),
    );
  }).catch((error) => {
    signal.throwIfAborted();
    throw error;
  });
  // The reader of what it writes may hear of it later.
  ended.catch(() => undefined);
  return { child, ended };
}
