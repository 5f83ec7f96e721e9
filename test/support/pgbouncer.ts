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

/**
 * Starts PgBouncer.
 * @param target address of a database, with the user and password of whoever connects
 * @param more lines of its section `pgbouncer`
 */
export async function startPgBouncer(target: string, mode: PoolMode, more = ""): Promise<PgBouncer> {
  const account = serviceAccount(["postgres"]);
  const folder = mkdtempSync(join(tmpdir(), "mapwright-pooler-"));
  handOver(folder, account);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  const name = new URL(target).pathname.slice(1);
  const { username } = new URL(target);
  const write = (poolMode: PoolMode, lines: string, to: string) => {
    const { searchParams, hostname, port: own, username: user, password, pathname } = new URL(to);
    writeFileSync(
      file,
      `[databases]
${name} = host=${searchParams.get("host") ?? hostname} port=${searchParams.get("port") ?? own} user=${user} password=${password} dbname=${pathname.slice(1)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
${lines}
`,
    );
    handOver(file, account);
  };
  write(mode, more, target);
  let child: ChildProcess | undefined;
  const start = async () => {
    // Its account may lack access to parent folders.
    const opened = openSync(folder, "r");
    child = spawn("pgbouncer", [`${inheritedFolder}/pgbouncer.ini`], {
      ...spawnOptions(account),
      stdio: ["ignore", "ignore", "ignore", opened],
    });
    closeSync(opened);
    await waitFor(() => listens(port));
  };
  const kill = async () => {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  };
  await start();
  return {
    url: `postgresql://${username}@127.0.0.1:${port}/${name}`,
    kill,
    start,
    change: (poolMode, lines = more, to = target) => {
      write(poolMode, lines, to);
      child?.kill("SIGHUP");
    },
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    setTimeout(() => socket.end(), 0);
  });
