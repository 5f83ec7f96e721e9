import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Log } from "../log.js";
import type { ServiceContext } from "./context.js";
import { lockDataDir } from "./lock.js";
import { startPostgres } from "./postgres.js";
import { startRedis } from "./redis.js";
import { loadSecrets, writePrivateJson } from "./secrets.js";

export { AlreadyRunning } from "./lock.js";

/**
 * The private PostgreSQL and Redis of a checkout, both on loopback with passwords of their own. They have nothing
 * to do with the machine's own clusters.
 */

export interface LocalServicesOptions {
  /** Folder for their files; made when absent. Whoever starts them has it for himself until `stop`. */
  readonly dataDir: string;
  readonly log: Log;
  /** False: they may lose everything with the machine's power, and are faster for it (tests). */
  readonly durable: boolean;
  /** Which to start; default both. */
  readonly database?: boolean;
  readonly redis?: boolean;
  /** Told what takes long, as a short phrase. */
  readonly progress?: (text: string) => void;
}

export interface LocalServices {
  /** Address for the server's role, which owns its database and is no superuser; absent when it was not asked for. */
  readonly databaseUrl?: string;
  /** Address for administration. */
  readonly superuserUrl?: string;
  readonly redisUrl?: string;
  /** Process ids of the services that run now. */
  pids(): number[];
  /** Ends the processes started here in good order, and gives the folder back. */
  stop(): Promise<void>;
}

/**
 * Starts the private services and keeps them running until `stop`. They end also when this process is killed.
 * Their addresses are in `<dataDir>/services.json` (mode 0600) while they run.
 * @throws AlreadyRunning when another process has started them on this folder
 * @throws Error when one cannot be started; the message says why
 */
export async function startLocalServices(options: LocalServicesOptions): Promise<LocalServices> {
  const dataDir = resolve(options.dataDir);
  const unlock = lockDataDir(dataDir);
  const addresses = join(dataDir, "services.json");
  try {
    rmSync(addresses, { force: true });
    const secretsPath = join(dataDir, "secrets.json");
    const { secrets, fresh } = loadSecrets(secretsPath);
    const context: ServiceContext = {
      dataDir,
      secrets,
      freshSecrets: fresh,
      durable: options.durable,
      log: options.log,
      progress: options.progress ?? (() => undefined),
    };
    const [database, redis] = await bothOrNone(
      options.database === false ? undefined : startPostgres(context),
      options.redis === false ? undefined : startRedis(context),
    );
    // Only now: after a start that was cut short the passwords count as lost, and are set anew.
    writePrivateJson(secretsPath, secrets);
    const urls = {
      ...(database && { databaseUrl: database.databaseUrl }),
      ...(redis && { redisUrl: redis.redisUrl }),
    };
    writePrivateJson(addresses, urls);
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      rmSync(addresses, { force: true });
      await Promise.all([database?.stop(), redis?.stop()]).finally(unlock);
    };
    return {
      ...urls,
      ...(database && { superuserUrl: database.superuserUrl }),
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

interface Stoppable {
  stop(): Promise<void>;
}

/** Waits for both; when one fails, the other is stopped before the failure is passed on. */
async function bothOrNone<A extends Stoppable, B extends Stoppable>(
  one: Promise<A> | undefined,
  other: Promise<B> | undefined,
): Promise<[A | undefined, B | undefined]> {
  const results = await Promise.allSettled([one, other] as const);
  const failure = results.find((result) => result.status === "rejected");
  if (!failure) return [await one, await other];
  for (const result of results) if (result.status === "fulfilled") await result.value?.stop();
  throw failure.reason;
}
