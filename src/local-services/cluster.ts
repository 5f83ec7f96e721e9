import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inheritedFolder, spawnOptions } from "./account.js";
import type { Secrets } from "./data-files.js";
import type { ServicePlace } from "./start-service.js";

/** The files of the private PostgreSQL cluster: which version of PostgreSQL they need, how they are made, its passwords. */

/** Role and database of the server. The role is no superuser: it owns this database and nothing else. */
export const databaseName = "mapwright";
export const superuserName = "postgres";
export const clusterPath = `${inheritedFolder}/cluster`;

const oldestVersion = 15;

/** Versions that are installed here with PostGIS, newest first. */
const installedVersions = (): number[] =>
  (existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [])
    .map(Number)
    .filter((version) => version >= oldestVersion && existsSync(join(programsOf(version), "postgres")))
    .filter((version) => existsSync(`/usr/share/postgresql/${version}/extension/postgis.control`))
    .sort((one, other) => other - one);

const programsOf = (version: number): string => `/usr/lib/postgresql/${version}/bin`;

/**
 * The folder of the PostgreSQL programs for the cluster in `folder`: of the version that made it, or of the newest
 * here when there is none yet.
 * @throws Error that says which packages are missing
 */
export function programsFor(folder: string): string {
  const versions = installedVersions();
  const versionFile = join(folder, "cluster", "PG_VERSION");
  if (existsSync(versionFile)) {
    const made = Number(readFileSync(versionFile, "utf8"));
    if (versions.includes(made)) return programsOf(made);
    throw new Error(
      `The database in ${folder} was made by PostgreSQL ${made}, which is not installed here with PostGIS ` +
        `(Debian packages postgresql-${made} and postgresql-${made}-postgis-3).`,
    );
  }
  if (versions[0]) return programsOf(versions[0]);
  throw new Error(
    `PostgreSQL ${oldestVersion} or later with PostGIS is not installed (apt-get install postgresql-15-postgis-3).`,
  );
}

/** What programs on the files of a cluster are run with. */
interface ClusterTools extends ServicePlace {
  /** Folder of the PostgreSQL programs. */
  readonly programs: string;
}

/** Runs one program to its end; `input` goes to its standard input. */
function run(tools: ClusterTools, program: string, args: readonly string[], input = ""): void {
  const { status, error, stdout, stderr } = spawnSync(join(tools.programs, program), args, {
    ...spawnOptions(tools.account),
    stdio: ["pipe", "pipe", "pipe", tools.folder],
    input,
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
  });
  if (error) throw error;
  // The single-user server goes on after an error and ends with 0.
  const problem = /^.*\b(ERROR|FATAL|PANIC):.*$/m.exec(stdout + stderr)?.[0];
  if (status === 0 && !problem) return;
  throw new Error(
    `${program} failed: ${problem ?? (stdout + stderr).trim().split("\n").slice(-5).join("\n")}`,
  );
}

/** Runs statements as superuser on a cluster that no server runs on; `args` name the cluster and the database. */
function runStatements(tools: ClusterTools, args: readonly string[], statements: readonly string[]): void {
  const quiet = ["-c", "log_min_messages=error", "-c", "log_min_error_statement=panic"];
  run(tools, "postgres", ["--single", ...quiet, ...args], `${statements.join("\n")}\n`);
}

const passwordStatements = (secrets: Secrets): string[] => [
  `alter role ${superuserName} password '${secrets.superuserPassword}'`,
  `alter role ${databaseName} password '${secrets.databasePassword}'`,
];

/** Gives the roles of an existing cluster the passwords of `secrets`. */
export function setPasswords(tools: ClusterTools, secrets: Secrets): void {
  runStatements(tools, ["-D", clusterPath, "postgres"], passwordStatements(secrets));
}

/**
 * Makes the cluster in `folder` with the server's role, database and extensions. It gets its name only when it is
 * complete, so that an interrupted first start begins anew.
 */
export function createCluster(tools: ClusterTools, folder: string, secrets: Secrets, durable: boolean): void {
  const draft = `${inheritedFolder}/new`;
  rmSync(join(folder, "new"), { recursive: true, force: true });
  // config/postgresql/pg_hba.conf says who may connect, not the file that initdb writes.
  const access = ["--username", superuserName, "--auth", "reject"];
  const locale = ["--encoding", "UTF8", "--locale", "C.UTF-8"];
  run(tools, "initdb", ["-D", draft, ...access, ...locale, "--no-sync", "--no-instructions"]);
  const unsynced = ["-D", draft, "-c", "fsync=off"];
  runStatements(
    tools,
    [...unsynced, "postgres"],
    [
      `create role ${databaseName} login`,
      ...passwordStatements(secrets),
      `create database ${databaseName} owner ${databaseName}`,
      `revoke connect on database postgres, template1 from public`,
    ],
  );
  const extensions = ["postgis", "pg_trgm", "unaccent"].map((name) => `create extension ${name}`);
  runStatements(tools, [...unsynced, databaseName], extensions);
  if (durable) run(tools, "initdb", ["--sync-only", "-D", draft]);
  renameSync(join(folder, "new"), join(folder, "cluster"));
}
