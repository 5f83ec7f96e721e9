import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../log.js";
import {
  loadSecrets,
  readAddresses,
  removeAddresses,
  type ServiceAddresses,
  saveAddresses,
  saveSecrets,
} from "./data-files.js";
import { AlreadyRunning, lockDataDir } from "./lock.js";
import { startPostgres } from "./postgres.js";
import { startRedis } from "./redis.js";
import type { ServiceContext } from "./start-service.js";

/**
 * The private PostgreSQL and Redis of a checkout, both on loopback with passwords of their own. They have nothing
 * to do with the machine's own clusters.
 */

export interface LocalServicesOptions {
  /** Folder for their files; made when absent. Locked until `stop`. */
  readonly dataDir: string;
  readonly log: Log;
  /** False: they may lose everything when the machine loses power, and are faster for it (tests). */
  readonly durable: boolean;
  /** Which to start; default both. */
  readonly database?: boolean;
  readonly redis?: boolean;
  /** Called with a short phrase before something that takes long. */
  readonly progress?: (text: string) => void;
  /** Whether commands may use them meanwhile; default true. Then `<dataDir>/services.json` has their addresses. */
  readonly shared?: boolean;
  /** Address of the server that they are for, where commands tell it. */
  readonly serverUrl?: string;
}

/** The addresses are absent for what was not to be started. */
export interface LocalServices extends ServiceAddresses {
  /** Process ids of the services that run now. */
  pids(): number[];
  /** Ends the processes started here in good order, and unlocks the folder. */
  stop(): Promise<void>;
}

/**
 * Starts the private services and keeps them running until `stop`. They end also when this process is killed.
 * @throws AlreadyRunning when another process has started them on this folder
 * @throws Error when one cannot be started; the message says why
 */
export async function startLocalServices(options: LocalServicesOptions): Promise<LocalServices> {
  const { durable, log, progress = () => undefined, serverUrl } = options;
  const dataDir = resolve(options.dataDir);
  const unlock = lockDataDir(dataDir);
  try {
    removeAddresses(dataDir);
    const { secrets, fresh: freshSecrets } = loadSecrets(dataDir);
    const context: ServiceContext = { dataDir, secrets, freshSecrets, durable, log, progress };
    const starting = [
      options.database === false ? undefined : startPostgres(context),
      options.redis === false ? undefined : startRedis(context),
    ] as const;
    const stopServices = async () => {
      const results = await Promise.allSettled(starting);
      await Promise.all(results.map((result) => result.status === "fulfilled" && result.value?.stop()));
    };
    const [database, redis] = await Promise.all(starting).catch(async (error) => {
      await stopServices();
      throw error;
    });
    // Only now: after a start that was cut short the passwords count as lost, and are set anew.
    saveSecrets(dataDir, secrets);
    const addresses: ServiceAddresses = {
      ...(database && { databaseUrl: database.databaseUrl, superuserUrl: database.superuserUrl }),
      ...(redis && { redisUrl: redis.redisUrl }),
      ...(serverUrl !== undefined && { serverUrl }),
    };
    if (options.shared !== false) saveAddresses(dataDir, addresses);
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      removeAddresses(dataDir);
      await stopServices().finally(unlock);
    };
    return {
      ...addresses,
      pids: () => [database?.pid(), redis?.pid()].filter((pid) => pid !== undefined),
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

const startingDeadlineMs = 60_000;

/**
 * The private services of a data folder for a command: those that a server runs there, which `stop` leaves running,
 * else services started here until `stop`. Undefined when the folder has none.
 * @throws Error when they cannot be started
 */
export async function ensureLocalServices(
  options: Pick<LocalServicesOptions, "dataDir" | "log">,
): Promise<LocalServices | undefined> {
  const dataDir = resolve(options.dataDir);
  const database = existsSync(join(dataDir, "postgresql"));
  const redis = existsSync(join(dataDir, "redis"));
  if (!database && !redis) return undefined;
  // A server may be starting or stopping: then it writes its addresses, or unlocks the folder. Another command does not
  // share its services, since it stops them at its end: it is waited for.
  for (const deadline = Date.now() + startingDeadlineMs; ; await sleep(100)) {
    try {
      return await startLocalServices({ ...options, dataDir, durable: true, database, redis, shared: false });
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error;
      const addresses = readAddresses(dataDir);
      if (addresses) return { ...addresses, pids: () => [], stop: async () => undefined };
      if (Date.now() > deadline) throw error;
    }
  }
}
