import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { handOver, inheritedFolder, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { programsFor } from "../../src/local-services/cluster.js";
import { migrate } from "../../src/storage/migrate.js";

/** Separate PostgreSQL clusters for tests of backups, standbys and failovers, which cannot use the shared one. */

export interface Cluster {
  readonly port: number;
  /** Connects as superuser. */
  sql(database: string, text: string): Promise<object[]>;
  /** Copies the files of the running cluster (pg_basebackup); the copy is not started. */
  baseBackup(options?: { readonly standby?: boolean }): Promise<ClusterFiles>;
  /** Waits until it has a standby that commits wait for (`synchronous_standby_names`). */
  makeSynchronous(): Promise<void>;
  /** Stops immediately, as after a crash. */
  kill(): Promise<void>;
  /** Ends all its processes without a word, as when its machine loses power; the kernel closes its connections. */
  crash(): Promise<void>;
}

/** Files of a cluster that is not running. */
export interface ClusterFiles {
  /** Writes a file to the folder of the cluster. */
  write(file: string, text: string): Promise<void>;
  start(): Promise<Cluster>;
}

/**
 * Creates and runs clusters in a temporary folder; `stop` stops all of them. PostgreSQL's account may lack access to parent
 * folders, so its programs inherit the folder as an open file descriptor.
 */
export class Clusters {
  private readonly folder = mkdtempSync(join(tmpdir(), "mapwright-clusters-"));
  private readonly opened = openSync(this.folder, "r");
  private readonly account = serviceAccount(["postgres"]);
  private readonly programs = programsFor(this.folder);
  /** Names of the clusters that run. */
  private readonly running = new Set<string>();
  private created = 0;

  /** @param address by which other machines may reach them */
  constructor(private readonly address?: string) {
    handOver(this.folder, this.account);
  }

  /** A new cluster. */
  async create(): Promise<Cluster> {
    const { name, files } = this.place();
    await this.run(
      "initdb",
      "-D",
      clusterPath(name),
      "--username=postgres",
      "--auth=trust",
      "--no-sync",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
    );
    if (this.address !== undefined) await files.write("pg_hba.conf", "host all all 0.0.0.0/0 trust\n");
    return files.start();
  }

  /** A new cluster with a database of the schema, `mapwright`, of a role of that name. */
  async createWithSchema(): Promise<Cluster> {
    const cluster = await this.create();
    await cluster.sql("postgres", "create role mapwright login");
    await cluster.sql("postgres", "create database mapwright owner mapwright");
    await cluster.sql(
      "mapwright",
      "create extension postgis; create extension pg_trgm; create extension unaccent",
    );
    const client = new pg.Client({
      connectionString: `postgresql://mapwright@127.0.0.1:${cluster.port}/mapwright`,
    });
    await client.connect();
    await migrate(client);
    await client.end();
    return cluster;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running].map((name) => this.end(name)));
    closeSync(this.opened);
    await rm(this.folder, { recursive: true, force: true });
  }

  private place(): { readonly name: string; readonly files: ClusterFiles } {
    const name = `c${++this.created}`;
    return {
      name,
      files: {
        write: async (file, text) => {
          const path = join(this.folder, name, file);
          await writeFile(path, text);
          handOver(path, this.account);
        },
        start: () => this.start(name),
      },
    };
  }

  private async start(name: string): Promise<Cluster> {
    const port = await freePort();
    const options = [
      `-p ${port}`,
      `-c listen_addresses=127.0.0.1${this.address === undefined ? "" : `,${this.address}`}`,
      "-c unix_socket_directories=",
      "-c fsync=off",
      // Otherwise transaction ids would not depend on the test alone.
      "-c autovacuum=off",
      "-c max_connections=60",
    ].join(" ");
    this.running.add(name);
    const place = clusterPath(name);
    await this.run("pg_ctl", "-D", place, "-w", "-t", "60", "-l", `${place}.log`, "-o", options, "start");
    const url = `postgresql://postgres@127.0.0.1:${port}`;
    return {
      port,
      sql: async (database, text) => {
        const client = new pg.Client({ connectionString: `${url}/${database}` });
        await client.connect();
        try {
          return (await client.query(text)).rows;
        } finally {
          await client.end();
        }
      },
      baseBackup: async ({ standby = false } = {}) => {
        const { name: copy, files } = this.place();
        await this.run(
          "pg_basebackup",
          "-d",
          url,
          "-D",
          clusterPath(copy),
          "-X",
          "stream",
          "-c",
          "fast",
          ...(standby ? ["-R"] : []),
        );
        return files;
      },
      makeSynchronous: () => this.makeSynchronous(url),
      kill: () => this.end(name),
      crash: () => this.crash(name),
    };
  }

  private async makeSynchronous(url: string): Promise<void> {
    const client = new pg.Client({ connectionString: `${url}/postgres` });
    await client.connect();
    try {
      await client.query("alter system set synchronous_standby_names = '*'");
      await client.query("select pg_reload_conf()");
      const isSynchronous = async () =>
        (await client.query("select from pg_stat_replication where sync_state = 'sync'")).rowCount! > 0;
      while (!(await isSynchronous())) await sleep(20);
    } finally {
      await client.end();
    }
  }

  private async crash(name: string): Promise<void> {
    if (!this.running.delete(name)) return;
    const [pid = ""] = (await readFile(join(this.folder, name, "postmaster.pid"), "utf8")).split("\n");
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
    for (const one of [pid, ...children.split(" ").filter(Boolean)]) end(Number(one));
  }

  private async end(name: string): Promise<void> {
    if (!this.running.delete(name)) return;
    await this.run("pg_ctl", "-D", clusterPath(name), "-w", "-m", "immediate", "stop");
  }

  private async run(program: string, ...args: readonly string[]): Promise<void> {
    const child = spawn(join(this.programs, program), args, {
      ...spawnOptions(this.account),
      stdio: ["ignore", "ignore", "pipe", this.opened],
    });
    let output = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk;
    });
    // Not "close": a started server keeps the inherited file descriptors open.
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`${program} failed: ${output}`);
  }
}

/** One that has ended by itself is ended. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The path of a cluster for PostgreSQL's programs. */
const clusterPath = (name: string): string => `${inheritedFolder}/${name}`;

export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A TCP proxy to one of several clusters, like the virtual address of an installation with standbys. */
export class SwitchableProxy {
  private readonly sockets = new Set<net.Socket>();
  private target: number | undefined;
  private readonly server = net.createServer((client) => this.connect(client));

  /** @returns the port */
  async listen(): Promise<number> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return (this.server.address() as net.AddressInfo).port;
  }

  /** Sends new connections to this port (undefined = refuses them) and closes existing ones. */
  switchTo(port: number | undefined): void {
    this.target = port;
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.switchTo(undefined);
    this.server.close();
    await once(this.server, "close");
  }

  private connect(client: net.Socket): void {
    if (this.target === undefined) return void client.destroy();
    const server = net.connect(this.target, "127.0.0.1");
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(one);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        this.sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
