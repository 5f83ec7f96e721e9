import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { handOver, inheritedFolder, serviceAccount, spawnOptions } from "../../src/local-services/account.js";
import { programsFor } from "../../src/local-services/cluster.js";

/** PostgreSQL clusters of a test's own, for what a test may not do to the one that all share: backups, standbys, failovers. */

export interface Cluster {
  readonly port: number;
  /** Connects as superuser. */
  sql(database: string, text: string): Promise<object[]>;
  /** A copy of the files as they are now, of which nothing runs yet. */
  baseBackup(options?: { readonly standby?: boolean }): Promise<ClusterFiles>;
  /** Ends at once, as after a crash. */
  kill(): Promise<void>;
}

/** Files of a cluster that does not run. */
export interface ClusterFiles {
  /** Writes a file into the folder of the cluster. */
  write(file: string, text: string): Promise<void>;
  start(): Promise<Cluster>;
}

/**
 * Makes and runs clusters in a folder of its own, all of which end with `stop`. PostgreSQL may not be able to walk the path
 * to that folder, so its programs inherit it as an open file.
 */
export class Clusters {
  private readonly folder = mkdtempSync(join(tmpdir(), "mapwright-clusters-"));
  private readonly opened = openSync(this.folder, "r");
  private readonly account = serviceAccount(["postgres"]);
  private readonly programs = programsFor(this.folder);
  /** Names of the clusters that run. */
  private readonly running = new Set<string>();
  private made = 0;

  constructor() {
    handOver(this.folder, this.account);
  }

  /** A new cluster. */
  async create(): Promise<Cluster> {
    const { name, files } = this.place();
    await this.run(
      "initdb",
      "-D",
      seen(name),
      "--username=postgres",
      "--auth=trust",
      "--no-sync",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
    );
    return files.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running].map((name) => this.end(name)));
    closeSync(this.opened);
    await rm(this.folder, { recursive: true, force: true });
  }

  private place(): { readonly name: string; readonly files: ClusterFiles } {
    const name = `c${++this.made}`;
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
      "-c listen_addresses=127.0.0.1",
      "-c unix_socket_directories=",
      "-c fsync=off",
      // Nobody but the test uses numbers of transactions.
      "-c autovacuum=off",
      "-c max_connections=60",
    ].join(" ");
    this.running.add(name);
    const place = seen(name);
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
          seen(copy),
          "-X",
          "stream",
          "-c",
          "fast",
          ...(standby ? ["-R"] : []),
        );
        return files;
      },
      kill: () => this.end(name),
    };
  }

  private async end(name: string): Promise<void> {
    if (!this.running.delete(name)) return;
    await this.run("pg_ctl", "-D", seen(name), "-w", "-m", "immediate", "stop");
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
    // Not "close": a server that was started keeps what it inherited.
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`${program} failed: ${output}`);
  }
}

/** The path by which PostgreSQL's programs find a cluster. */
const seen = (name: string): string => `${inheritedFolder}/${name}`;

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** An address that leads to one cluster or another, as the addresses of installations with standbys do. */
export class Switchboard {
  private readonly sockets = new Set<net.Socket>();
  private target: number | undefined;
  private readonly server = net.createServer((client) => this.connect(client));

  /** @returns the port */
  async listen(): Promise<number> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return (this.server.address() as net.AddressInfo).port;
  }

  /** New connections lead there (undefined: nowhere), and those that there are end. */
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
