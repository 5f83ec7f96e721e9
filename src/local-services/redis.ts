import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inheritedFolder } from "./account.js";
import {
  configFolder,
  memoryShareMib,
  type ServiceContext,
  type StartedService,
  startService,
} from "./start-service.js";

export interface StartedRedis extends StartedService {
  readonly redisUrl: string;
}

/** Starts the private Redis in `<dataDir>/redis`. As root it runs as the user `redis`. */
export async function startRedis({ dataDir, secrets, durable, log }: ServiceContext): Promise<StartedRedis> {
  const program = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find((path) => existsSync(path));
  if (!program) throw new Error("Redis is not installed (apt-get install redis-server).");
  const settings = readFileSync(new URL("redis/redis.conf", configFolder), "utf8");
  const url = (port: number) => `redis://:${secrets.redisPassword}@127.0.0.1:${port}/0`;
  const service = await startService(
    {
      name: "Redis",
      folder: join(dataDir, "redis"),
      program,
      users: ["redis", "postgres"],
      endSignal: "SIGTERM",
      preferredPort: secrets.redisPort,
      // The settings come by standard input, so that the password is in no file and no list of processes.
      command: (port) => ({
        args: ["-"],
        input: [
          settings,
          `port ${port}`,
          `dir ${inheritedFolder}`,
          `requirepass ${secrets.redisPassword}`,
          `maxmemory ${memoryShareMib(1 / 16, 128, durable ? 2048 : 256)}mb`,
          `appendonly ${durable ? "yes" : "no"}`,
          "",
        ].join("\n"),
      }),
      answers: (port) => connect(url(port)),
    },
    log,
  );
  secrets.redisPort = service.port;
  return { ...service, redisUrl: url(service.port) };
}

/** Rejects while Redis does not answer commands, as when it loads its file. */
async function connect(url: string): Promise<void> {
  // Commands that find a running Redis do without.
  const { Redis } = await import("ioredis");
  // The client's own check of readiness would wait as long as Redis expects to load, up to 10 s at a time.
  const redis = new Redis(url, { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
