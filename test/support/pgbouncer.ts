import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { handOver, inheritedFolder, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { freePort } from "./clusters.js";
import { waitFor } from "./server.js";

/** PgBouncer in front of a database. */

export type PoolMode = "transaction" | "session" | "statement";

export interface PgBouncer {
  /** Of the database behind it. */
  readonly url: string;
  /** Ends it at once, and starts it again on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Goes on with other settings, or to another server, as after RELOAD. */
  change(mode: PoolMode, more?: string, target?: string): void;
  stop(): Promise<void>;
}

/** Its process: reads `pgbouncer.ini`, and other files that that names, in a folder of its own. */
class Process {
  readonly folder = mkdtempSync(join(tmpdir(), "mapwright-pooler-"));
  private readonly account = serviceAccount(["postgres"]);
  private child: ChildProcess | undefined;

  constructor(readonly port: number) {
    handOver(this.folder, this.account);
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name);
    writeFileSync(file, text);
    handOver(file, this.account);
  }

  writeIni(databases: string, mode: PoolMode, lines: string): void {
    this.write(
      "pgbouncer.ini",
      `[databases]
${databases}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${this.port}
unix_socket_dir =
pool_mode = ${mode}
${lines}
`,
    );
  }

  async start(): Promise<void> {
    // Its account may lack access to parent folders.
    const opened = openSync(this.folder, "r");
    this.child = spawn("pgbouncer", [`${inheritedFolder}/pgbouncer.ini`], {
      ...spawnOptions(this.account),
      stdio: ["ignore", "ignore", "ignore", opened],
    });
    closeSync(opened);
    await waitFor(() => listens(this.port));
  }

  reload(): void {
    this.child?.kill("SIGHUP");
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** @param target with the user and password of whoever connects */
function databaseLine(name: string, target: string): string {
  const { searchParams, hostname, port, username, password, pathname } = new URL(target);
  return `${name} = host=${searchParams.get("host") ?? hostname} port=${searchParams.get("port") ?? port} user=${username} password=${password} dbname=${pathname.slice(1)}`;
}

/**
 * Starts PgBouncer.
 * @param target address of a database, with the user and password of whoever connects
 * @param more lines of its section `pgbouncer`
 */
export async function startPgBouncer(target: string, mode: PoolMode, more = ""): Promise<PgBouncer> {
  const process = new Process(await freePort());
  const { username, pathname } = new URL(target);
  const name = pathname.slice(1);
  const write = (poolMode: PoolMode, lines: string, to: string) =>
    process.writeIni(databaseLine(name, to), poolMode, `auth_type = any\n${lines}`);
  write(mode, more, target);
  await process.start();
  return {
    url: `postgresql://${username}@127.0.0.1:${process.port}/${name}`,
    kill: () => process.kill(),
    start: () => process.start(),
    change: (poolMode, lines = more, to = target) => {
      write(poolMode, lines, to);
      process.reload();
    },
    stop: () => process.stop(),
  };
}

/**
 * Starts PgBouncer with the settings that operators are given.
 * @param ini as it is there, for the database `maps` at 10.0.0.21
 */
export async function startDocumented(ini: string, target: string): Promise<SuitePooler> {
  const process = new Process(await freePort());
  const { username, password } = new URL(target);
  process.write("users.txt", `"${username}" "${password}"\n`);
  process.write(
    "pgbouncer.ini",
    ini
      .replace(/^maps = .*$/m, databaseLine("maps", target))
      .replace("listen_port = 6432", `listen_port = ${process.port}\nunix_socket_dir =`)
      .replace("/etc/pgbouncer/userlist.txt", `${inheritedFolder}/users.txt`),
  );
  await process.start();
  const url = `postgresql://${username}:${password}@127.0.0.1:${process.port}/maps`;
  return { url, stop: () => process.stop() };
}

export interface SuitePooler {
  /** That of the suite is without user and database. */
  readonly url: string;
  stop(): Promise<void>;
}

/** PgBouncer before all databases of a server, whoever connects. */
export async function startSuitePooler(superuserUrl: string, mode: PoolMode): Promise<SuitePooler> {
  const process = new Process(await freePort());
  const { searchParams, hostname, port, username, password } = new URL(superuserUrl);
  process.write("users.txt", `"${username}" "${decodeURIComponent(password)}"\n`);
  process.writeIni(
    `* = host=${searchParams.get("host") ?? hostname} port=${searchParams.get("port") ?? port}`,
    mode,
    `auth_type = scram-sha-256
auth_file = ${inheritedFolder}/users.txt
auth_user = ${username}
default_pool_size = 8
max_client_conn = 2000
server_idle_timeout = 5`,
  );
  await process.start();
  return { url: `postgresql://127.0.0.1:${process.port}/`, stop: () => process.stop() };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    setTimeout(() => socket.end(), 0);
  });
