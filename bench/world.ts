import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { type Config, loadConfig } from "../src/config.js";
import { programsFor } from "../src/local-services/cluster.js";
import { startLocalServices } from "../src/local-services/services.js";
import { createLog, type Log } from "../src/log.js";
import { migrate } from "../src/storage/migrate.js";

/** A PostgreSQL and a Redis of the bench's own, in a folder that is removed afterwards. */

export interface World {
  readonly folder: string;
  readonly log: Log;
  readonly postgresPid: number;
  readonly redisPid: number;
  readonly redis: Redis;
  /** Folder of PostgreSQL's programs. */
  readonly programs: string;
  /** The product's configuration on these services, with dotted keys of it changed. */
  config(changes?: Readonly<Record<string, unknown>>): Config;
  /** Drops every cached tile, in Redis and in the memory of the nodes that run. */
  forgetTiles(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Kept and used again; absent: a temporary folder. */
  readonly folder?: string;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const folder = options.folder ? resolve(options.folder) : mkdtempSync(join(tmpdir(), "mapwright-bench-"));
  mkdirSync(folder, { recursive: true });
  // Peers under other accounts read and write folders in it.
  chmodSync(folder, 0o755);
  const remove = () => {
    if (!options.folder) rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", remove);
  const log = createLog("warn", "bench");
  const services = await startLocalServices({ dataDir: join(folder, "services"), log, durable: false });
  const { databaseUrl, superuserUrl, redisUrl } = services;
  const [postgresPid, redisPid] = services.pids();
  if (!databaseUrl || !superuserUrl || !redisUrl || !postgresPid || !redisPid) {
    throw new Error("The private services did not all start.");
  }
  const redis = new Redis(redisUrl);
  const stop = async () => {
    redis.disconnect();
    await services.stop();
    process.removeListener("exit", remove);
    remove();
  };
  try {
    // Its work would count as somebody's tiles.
    await run(superuserUrl, async (client) => {
      await client.query("alter system set autovacuum = off");
      await client.query("select pg_reload_conf()");
    });
    await run(databaseUrl, migrate);
  } catch (error) {
    await stop();
    throw error;
  }
  const files = join(folder, "files");
  if (!existsSync(files)) mkdirSync(files);
  return {
    folder,
    log,
    postgresPid,
    redisPid,
    redis,
    programs: programsFor(join(folder, "services", "postgresql")),
    config: (changes = {}) =>
      loadConfig({
        environment: {},
        flags: {
          databaseUrl,
          redisUrl,
          host: "127.0.0.1",
          port: 0,
          dataDir: files,
          logLevel: "warn",
          ...changes,
        },
      }),
    forgetTiles: async () => {
      await redis.flushall();
      await run(databaseUrl, (client) => client.query("select pg_notify('mapwright', 'C')"));
      // Nodes hear of it within milliseconds.
      await new Promise((wait) => setTimeout(wait, 200));
    },
    stop,
  };
}

async function run(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
