import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { serviceAccount } from "./accounts.js";
import { handOver } from "./cluster.js";
import { keptLog, type ServiceContext, tail } from "./context.js";
import { endLeftovers } from "./leftovers.js";
import { configFolder, freePort, memoryShareMib } from "./machine.js";
import { inheritedFolder, type RunningService, startService } from "./service.js";

export interface RunningRedis extends RunningService {
  readonly redisUrl: string;
}

function program(): string {
  const found = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find((path) => existsSync(path));
  if (!found) throw new Error("Redis is not installed (apt-get install redis-server).");
  return found;
}

/** Resolves when Redis answers commands: while it loads its file it refuses them. */
async function answers(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: null,
    enableReadyCheck: false,
    connectTimeout: 5_000,
  });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/**
 * Starts the private Redis in `<dataDir>/redis`. As root it runs as the user `redis` and, as PostgreSQL does,
 * reaches its folder as an inherited open file. It reads its configuration from standard input, so that the
 * password is in no file and no list of processes.
 */
export async function startRedis(context: ServiceContext): Promise<RunningRedis> {
  const { dataDir, secrets, durable, log } = context;
  const account = serviceAccount(["redis", "postgres"]);
  const path = join(dataDir, "redis");
  mkdirSync(path, { recursive: true });
  handOver(path, account);
  chmodSync(path, 0o700);
  const folder = openSync(path, "r");
  const logPath = join(dataDir, "redis.log");
  const output = keptLog(logPath);
  try {
    await endLeftovers(path, "redis-server", "SIGTERM");
    const settings = readFileSync(join(configFolder(), "redis", "redis.conf"), "utf8");
    for (let attempt = 1; ; attempt++) {
      const port = await freePort(attempt === 1 ? secrets.redisPort : 0);
      const redisUrl = `redis://:${secrets.redisPassword}@127.0.0.1:${port}/0`;
      const computed = [
        `port ${port}`,
        `dir ${inheritedFolder}`,
        `requirepass ${secrets.redisPassword}`,
        `maxmemory ${memoryShareMib(1 / 16, 128, durable ? 2048 : 256)}mb`,
        ...(durable ? [] : ["appendonly no"]),
      ];
      const service = await startService(
        {
          name: "Redis",
          program: program(),
          args: ["-"],
          input: `${settings}\n${computed.join("\n")}\n`,
          folder,
          output,
          account,
          endSignal: "SIGTERM",
          answers: () => answers(redisUrl),
        },
        log,
      );
      if (service) {
        secrets.redisPort = port;
        return {
          redisUrl,
          pid: () => service.pid(),
          stop: async () => {
            await service.stop();
            closeSync(folder);
            closeSync(output);
          },
        };
      }
      if (attempt === 3)
        throw new Error(`The private Redis does not start. The end of ${logPath}:\n${tail(logPath)}`);
    }
  } catch (error) {
    closeSync(folder);
    closeSync(output);
    throw error;
  }
}
