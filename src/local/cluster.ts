import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "./accounts.js";
import type { Secrets } from "./secrets.js";
import { inheritedFolder, spawnOptions } from "./service.js";

/** The files of the private PostgreSQL cluster: which server fits them, how they come to be, its passwords. */

/** Role and database of the server. The role is no superuser: it owns this database and nothing else. */
export const databaseName = "mapwright";
export const superuserName = "postgres";
/** Sub-folder of the cluster in the folder that is handed to PostgreSQL. */
export const clusterPath = `${inheritedFolder}/cluster`;

const oldestVersion = 15;

/** Versions with PostGIS installed here, newest first, with the folder of their programs. */
function installedVersions(): { version: number; programs: string }[] {
  const root = "/usr/lib/postgresql";
  return (existsSync(root) ? readdirSync(root) : [])
    .map((name) => ({ version: Number(name), programs: join(root, name, "bin") }))
    .filter(({ version, programs }) => version >= oldestVersion && existsSync(join(programs, "postgres")))
    .filter(({ version }) => existsSync(`/usr/share/postgresql/${version}/extension/postgis.control`))
    .sort((one, other) => other.version - one.version);
}

/**
 * The folder of the PostgreSQL programs for the cluster in `folder`: the version that made it, or the newest here
 * when there is none yet.
 * @throws Error that says which packages are missing
 */
export function programsFor(folder: string): string {
  const versions = installedVersions();
  const versionFile = join(folder, "cluster", "PG_VERSION");
  if (existsSync(versionFile)) {
    const made = Number(readFileSync(versionFile, "utf8"));
    const match = versions.find(({ version }) => version === made);
    if (match) return match.programs;
    throw new Error(
      `The database in ${folder} was made by PostgreSQL ${made}, which is not installed here with PostGIS ` +
        `(Debian packages postgresql-${made} and postgresql-${made}-postgis-3).`,
    );
  }
  const newest = versions[0];
  if (newest) return newest.programs;
  throw new Error(
    `PostgreSQL ${oldestVersion} or later with PostGIS is not installed (apt-get install postgresql-15-postgis-3).`,
  );
}

/** Runs programs on the files of a cluster. */
export interface ClusterTools {
  /** Folder of the PostgreSQL programs. */
  readonly programs: string;
  /** Open folder that the cluster lies in. */
  readonly folder: number;
  readonly account: Account | undefined;
}

/** Runs one program to its end; `input` goes to its standard input. */
async function run(tools: ClusterTools, program: string, args: readonly string[], input = ""): Promise<void> {
  const child = spawn(join(tools.programs, program), args, {
    ...spawnOptions(tools.account),
    stdio: ["pipe", "pipe", "pipe", tools.folder],
  });
  let output = "";
  const collect = (chunk: Buffer) => {
    output = (output + chunk).slice(-20_000);
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  // The single-user server goes on after an error and ends with 0.
  const problem = /^.*\b(ERROR|FATAL|PANIC):.*$/m.exec(output);
  if (code !== 0 || problem) {
    throw new Error(`${program} failed: ${problem?.[0] ?? output.trim().split("\n").slice(-5).join("\n")}`);
  }
}

/** Statements, one a line, as superuser on a cluster that no server runs on. */
function singleUser(
  tools: ClusterTools,
  options: readonly string[],
  statements: readonly string[],
): Promise<void> {
  const args = [
    "--single",
    "-c",
    "log_min_messages=error",
    "-c",
    "log_min_error_statement=panic",
    ...options,
  ];
  return run(tools, "postgres", args, `${statements.join("\n")}\n`);
}

const passwordStatements = (secrets: Secrets): string[] => [
  `alter role ${superuserName} password '${secrets.superuserPassword}'`,
  `alter role ${databaseName} password '${secrets.databasePassword}'`,
];

/** Gives the roles of an existing cluster the passwords of `secrets`. */
export async function setPasswords(tools: ClusterTools, secrets: Secrets): Promise<void> {
  await singleUser(tools, ["-D", clusterPath, "postgres"], passwordStatements(secrets));
}

/**
 * Makes the cluster in `folder` with the server's role, database and extensions. It gets its name only when it is
 * complete, so that an interrupted first start begins anew.
 */
export async function createCluster(
  tools: ClusterTools,
  folder: string,
  secrets: Secrets,
  durable: boolean,
): Promise<void> {
  const draft = `${inheritedFolder}/new`;
  rmSync(join(folder, "new"), { recursive: true, force: true });
  // Who may connect is told by config/postgresql/pg_hba.conf, not by the file that initdb writes.
  const access = ["--username", superuserName, "--auth", "reject"];
  const locale = ["--encoding", "UTF8", "--locale", "C.UTF-8"];
  await run(tools, "initdb", ["-D", draft, ...access, ...locale, "--no-sync", "--no-instructions"]);
  const unsynced = ["-D", draft, "-c", "fsync=off"];
  await singleUser(
    tools,
    [...unsynced, "postgres"],
    [
      `create role ${databaseName} login`,
      ...passwordStatements(secrets),
      `create database ${databaseName} owner ${databaseName}`,
      `revoke connect on database postgres, template1 from public`,
    ],
  );
  await singleUser(
    tools,
    [...unsynced, databaseName],
    ["create extension postgis", "create extension pg_trgm", "create extension unaccent"],
  );
  if (durable) await run(tools, "initdb", ["--sync-only", "-D", draft]);
  renameSync(join(folder, "new"), join(folder, "cluster"));
}

/** Hands a file or folder to the account of the service. */
export function handOver(path: string, account: Account | undefined): void {
  if (account) chownSync(path, account.uid, account.gid);
}
