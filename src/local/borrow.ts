import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AlreadyRunning } from "./lock.js";
import { type LocalServices, type LocalServicesOptions, startLocalServices } from "./services.js";

type BorrowOptions = Pick<LocalServicesOptions, "dataDir" | "log" | "progress">;

const startingDeadlineMs = 60_000;

/**
 * For a command that needs the private services of a data folder for a while: those that a server runs there, else
 * started here until `stop`. Undefined when the folder has none.
 * @throws Error when they cannot be started
 */
export async function borrowLocalServices(options: BorrowOptions): Promise<LocalServices | undefined> {
  const dataDir = resolve(options.dataDir);
  const database = existsSync(join(dataDir, "postgresql"));
  const redis = existsSync(join(dataDir, "redis"));
  if (!database && !redis) return undefined;
  // A server may be starting or ending just now: then its addresses come, or its lock goes.
  for (const deadline = Date.now() + startingDeadlineMs; ; ) {
    try {
      return await startLocalServices({ ...options, dataDir, durable: true, database, redis });
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error;
      const running = runningServices(dataDir);
      if (running) return running;
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** Services that another process runs; it stops them itself. */
function runningServices(dataDir: string): LocalServices | undefined {
  try {
    const urls = JSON.parse(readFileSync(join(dataDir, "services.json"), "utf8")) as Partial<LocalServices>;
    return {
      ...(urls.databaseUrl ? { databaseUrl: urls.databaseUrl } : {}),
      ...(urls.redisUrl ? { redisUrl: urls.redisUrl } : {}),
      pids: () => [],
      stop: async () => undefined,
    };
  } catch {
    return undefined;
  }
}
