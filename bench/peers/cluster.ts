import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import pg from "pg";
import { parentOf } from "../cpu.js";

/** The machine's own PostgreSQL, which the peers read from over its socket; Debian's way of running it. */

const socketFolder = "/var/run/postgresql";

export interface PeerDatabase {
  connect(): Promise<pg.Client>;
  /** The server's first process. */
  readonly pid: number;
  /** Ends the server if it was started here. */
  stop(): void;
}

const roles = ["root", "www-data"];

/**
 * Has the server run and the database `lab` there, readable to the peers by their account names.
 * @throws Error when this is not root, or the server cannot be started
 */
export async function openLab(): Promise<PeerDatabase> {
  if (process.getuid?.() !== 0) throw new Error("The peers run under several accounts: start this as root.");
  const ours = (await answers()) ? undefined : startCluster();
  asPostgres(
    "postgres",
    `${roles.map((role) => `select 'create role "${role}" login' where not exists (select 1 from pg_roles where rolname = '${role}') \\gexec`).join("\n")}
select 'create database lab owner root' where not exists (select 1 from pg_database where datname = 'lab') \\gexec
alter database lab set jit = off;
alter database lab set random_page_cost = 1.1;
alter database lab set work_mem = '16MB';`,
  );
  asPostgres("lab", "create extension if not exists postgis;");
  const connect = async () => {
    const client = new pg.Client({ host: socketFolder, user: "root", database: "lab" });
    await client.connect();
    return client;
  };
  const client = await connect();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = parentOf(rows[0]!.pid);
  await client.end();
  return {
    connect,
    pid,
    stop: () => {
      if (ours) spawnSync("pg_ctlcluster", [ours, "main", "stop", "-m", "fast"], { stdio: "ignore" });
    },
  };
}

async function answers(): Promise<boolean> {
  const client = new pg.Client({ host: socketFolder, user: "postgres", database: "postgres" });
  try {
    await client.connect();
    return true;
  } catch (error) {
    // Any answer of the server is one, a refusal too; only a missing socket is none.
    return !["ENOENT", "ECONNREFUSED"].includes((error as { code?: string }).code ?? "");
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Starts Debian's cluster `main`, with as much memory as our own has; its version. */
function startCluster(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root)
    ? readdirSync(root).sort((one, other) => Number(other) - Number(one))
    : [];
  const version = versions.find((name) => existsSync(`/etc/postgresql/${name}/main`)) ?? versions[0];
  if (version === undefined) throw new Error("PostgreSQL is not installed.");
  if (!existsSync(`/etc/postgresql/${version}/main`)) run("pg_createcluster", [version, "main"]);
  run("pg_ctlcluster", [
    version,
    "main",
    "start",
    "-o",
    "-c shared_buffers=512MB -c effective_cache_size=12GB",
  ]);
  return version;
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

function asPostgres(database: string, script: string): void {
  const psql = ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", socketFolder, "-d", database];
  const { status, stderr, error } = spawnSync(
    "setpriv",
    ["--reuid=postgres", "--regid=postgres", "--init-groups", "--", ...psql],
    { input: script, encoding: "utf8", cwd: "/" },
  );
  if (status !== 0) throw new Error(`The database of the peers: ${error?.message ?? stderr}`);
}
