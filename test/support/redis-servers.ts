import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./clusters.js";
import { waitFor } from "./server.js";

/** Redis servers of a test's own, which it may stop, kill, fill and join: alone, with replicas and Sentinel, as a cluster. */

export interface RedisServer {
  readonly port: number;
  /** Of a node of a cluster, for the other nodes. */
  readonly bus: number | undefined;
  readonly url: string;
  /** A connection past the client that is tested. */
  readonly cli: Redis;
  /** It answers nothing until `resume`. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** After `kill`, with nothing in it. */
  start(): Promise<void>;
}

/** Waits until all that was written to a primary is on its replica, too. */
export const copied = ({ cli }: RedisServer, key = "copied"): Promise<void> =>
  waitFor(async () => {
    await cli.set(key, "1");
    return Number(await cli.call("WAIT", "1", "1000")) === 1;
  });

export class RedisServers {
  private readonly servers: OwnServer[] = [];

  private constructor(private readonly folder: string) {}

  static async create(): Promise<RedisServers> {
    return new RedisServers(await mkdtemp(join(tmpdir(), "mapwright-redis-")));
  }

  /** @param settings lines of redis.conf */
  async start(
    settings: readonly string[] = [],
    { password, mode }: { readonly password?: string; readonly mode?: "--sentinel" } = {},
  ): Promise<RedisServer> {
    const port = await freePort();
    const folder = join(this.folder, String(port));
    await mkdir(folder);
    const lock = password === undefined ? [] : [`requirepass ${password}`, `masterauth ${password}`];
    // The default, 10,000 above the port, may be none.
    const bus = settings.includes("cluster-enabled yes") ? await freePort() : undefined;
    const lines = [
      ...[`port ${port}`, "bind 127.0.0.1", `dir ${folder}`, 'save ""', ...lock, ...settings],
      ...(bus === undefined ? [] : [`cluster-port ${bus}`]),
    ];
    // Sentinel writes into its file, and saves nothing.
    const text = lines.filter((line) => mode === undefined || !line.startsWith("save")).join("\n");
    await writeFile(join(folder, "redis.conf"), `${text}\n`);
    const server = new OwnServer({ port, bus, file: join(folder, "redis.conf"), password, mode });
    this.servers.push(server);
    await server.start();
    return server;
  }

  /** A primary, a replica of it and a Sentinel that makes the replica the primary after a second. */
  async withSentinel(password: string): Promise<{
    readonly primary: RedisServer;
    readonly replica: RedisServer;
    readonly sentinel: RedisServer;
  }> {
    const primary = await this.start(["repl-diskless-sync-delay 0"], { password });
    const replica = await this.start([`replicaof 127.0.0.1 ${primary.port}`], { password });
    await waitFor(async () => (await replica.cli.info("replication")).includes("master_link_status:up"));
    const sentinel = await this.start(
      [
        `sentinel monitor maps 127.0.0.1 ${primary.port} 1`,
        `sentinel auth-pass maps ${password}`,
        "sentinel down-after-milliseconds maps 1000",
        "sentinel failover-timeout maps 2000",
      ],
      { mode: "--sentinel" },
    );
    await waitFor(
      async () => ((await sentinel.cli.call("SENTINEL", "replicas", "maps")) as unknown[]).length === 1,
    );
    return { primary, replica, sentinel };
  }

  /** A cluster of three primaries; the last server is a replica of the first one. */
  async cluster(settings: readonly string[] = [], password?: string): Promise<readonly RedisServer[]> {
    const servers: RedisServer[] = [];
    for (let count = 0; count < 4; count++)
      servers.push(
        await this.start(
          [
            ...["cluster-enabled yes", "cluster-node-timeout 1000", "cluster-replica-validity-factor 0"],
            ...["repl-diskless-sync-delay 0", ...settings],
          ],
          password === undefined ? {} : { password },
        ),
      );
    const [first, second, third, replica] = servers as [RedisServer, RedisServer, RedisServer, RedisServer];
    const slots = [
      [first, 0, 5_460],
      [second, 5_461, 10_922],
      [third, 10_923, 16_383],
    ] as const;
    for (const [index, [{ cli }, from, to]] of slots.entries()) {
      await cli.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      await cli.call("CLUSTER", "ADDSLOTSRANGE", from, to);
    }
    for (const { port, bus } of servers.slice(1))
      await first.cli.call("CLUSTER", "MEET", "127.0.0.1", port, bus!);
    const known = async ({ cli }: RedisServer) =>
      ((await cli.cluster("NODES")) as string).trim().split("\n").length;
    await waitFor(async () => (await Promise.all(servers.map(known))).every((count) => count === 4));
    const id = (await first.cli.cluster("MYID")) as string;
    await replica.cli.cluster("REPLICATE", id);
    await waitFor(async () => {
      const states = await Promise.all(servers.map(({ cli }) => cli.cluster("INFO") as Promise<string>));
      const follows = (await replica.cli.info("replication")).includes("master_link_status:up");
      return follows && states.every((state) => state.includes("cluster_state:ok"));
    });
    return servers;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.end()));
    await rm(this.folder, { recursive: true, force: true });
  }
}

class OwnServer implements RedisServer {
  readonly url: string;
  readonly cli: Redis;
  private process: ChildProcess | undefined;

  readonly port: number;
  readonly bus: number | undefined;

  constructor(
    private readonly options: {
      readonly port: number;
      readonly bus: number | undefined;
      readonly file: string;
      readonly password: string | undefined;
      readonly mode: string | undefined;
    },
  ) {
    const { port, password } = options;
    this.port = port;
    this.bus = options.bus;
    this.url = `redis://${password === undefined ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
    this.cli = new Redis(this.url, { lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: 100 });
    this.cli.on("error", () => undefined);
  }

  async start(): Promise<void> {
    const { file, mode } = this.options;
    this.process = spawn("redis-server", [file, ...(mode ? [mode] : [])], { stdio: "ignore" });
    await waitFor(() =>
      this.cli.ping().then(
        () => true,
        () => false,
      ),
    );
  }

  pause(): void {
    this.process?.kill("SIGSTOP");
  }

  resume(): void {
    this.process?.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    const { process } = this;
    if (!process) return;
    this.process = undefined;
    const ended = once(process, "exit");
    process.kill("SIGKILL");
    await ended;
  }

  async end(): Promise<void> {
    this.cli.disconnect();
    await this.kill();
  }
}
