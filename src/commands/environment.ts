import type { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import { propagateFromCommand } from "../changes/from-command.js";
import { type Config, type ConfigSources, loadConfig } from "../config.js";
import { reasonOf } from "../errors.js";
import { readAddresses, type ServiceAddresses } from "../local-services/data-files.js";
import { ensureLocalServices } from "../local-services/services.js";
import { createLog, type Log } from "../log.js";
import { adviceOnRefusal } from "../storage/connection-errors.js";
import { migrate, pendingMigrations } from "../storage/migrate.js";
import { type Database, openDatabase } from "../storage/postgres.js";
import type { Redis } from "../storage/redis.js";

/** What commands share: their streams, the configuration, and connections that are closed at the end of the command. */

export interface CommandEnvironment {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Gives the process the lowest priority of the machine; absent = it keeps the one it has. */
  readonly yieldToOthers?: () => void;
  /** Environment variables; default: the process's own. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** Wrong usage of a command: exit status 2. */
export class UsageError extends Error {}
/** A command that failed: exit status 1. The message is shown to the user. */
export class CommandError extends Error {}

/** One line of data on standard output. */
export const print = (env: CommandEnvironment, text: string): void => void env.stdout.write(`${text}\n`);
/** One line of messages for the user, on standard error. */
export const say = (env: CommandEnvironment, text: string): void => void env.stderr.write(`${text}\n`);

/**
 * The result of a command that changes something: a message, or with `--json` an object on standard output.
 * @param to where the object goes instead
 */
export function report(
  env: CommandEnvironment,
  command: Command,
  { message, value }: { readonly message: string; readonly value: object },
  to: Writable = env.stdout,
): void {
  if (isJson(command)) to.write(`${JSON.stringify(value)}\n`);
  else say(env, message);
}

export const isJson = (command: Command): boolean =>
  command.optsWithGlobals<{ readonly json?: boolean }>().json === true;

/** Options that every command takes. */
interface GlobalOptions {
  readonly config?: string;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly dataDir?: string;
  readonly logLevel?: string;
}

/**
 * The configuration of a command: flags over environment over file over the private services of the checkout over
 * defaults.
 * @param flags dotted keys of the command's own options
 * @param addresses of the private services; default those that a server runs
 * @throws ConfigError
 */
export const configOf = (
  env: CommandEnvironment,
  command: Command,
  flags: Readonly<Record<string, unknown>> = {},
  addresses?: ServiceAddresses,
): Config => installationOf(env, command, flags, addresses).config;

/** As `configOf`, with what else is known of the private services, if the configuration is that of their server. */
export function installationOf(
  env: CommandEnvironment,
  command: Command,
  flags: Readonly<Record<string, unknown>> = {},
  addresses?: ServiceAddresses,
): { readonly config: Config; readonly local?: ServiceAddresses } {
  const { config: file, databaseUrl, redisUrl, dataDir, logLevel } = command.optsWithGlobals<GlobalOptions>();
  const sources: ConfigSources = {
    file,
    ...(env.variables ? { environment: env.variables } : {}),
    flags: { databaseUrl, redisUrl, dataDir, logLevel, ...flags },
  };
  const config = loadConfig(sources);
  const local = addresses ?? readAddresses(config.dataDir);
  if (!local) return { config };
  const { databaseUrl: localDatabase, redisUrl: localRedis } = local;
  const withLocal = loadConfig({
    ...sources,
    defaults: { databaseUrl: localDatabase, redisUrl: localRedis },
  });
  // A configured address of one service means another installation: then neither private service is used.
  const chosen =
    (local.databaseUrl === undefined || withLocal.databaseUrl === local.databaseUrl) &&
    (local.redisUrl === undefined || withLocal.redisUrl === local.redisUrl);
  return chosen ? { config: withLocal, local } : { config };
}

/** Which of the services have no address in flags, environment or file. */
export function unconfigured(
  env: CommandEnvironment,
  command: Command,
): { readonly database: boolean; readonly redis: boolean } {
  const { config: file, databaseUrl, redisUrl } = command.optsWithGlobals<GlobalOptions>();
  const absent = { databaseUrl: "postgresql://absent.invalid/", redisUrl: "redis://absent.invalid/" };
  const config = loadConfig({
    file,
    ...(env.variables ? { environment: env.variables } : {}),
    flags: { databaseUrl, redisUrl },
    defaults: absent,
  });
  return {
    database: config.databaseUrl === absent.databaseUrl,
    redis: config.redisUrl === absent.redisUrl,
  };
}

export interface CommandServices {
  readonly config: Config;
  /** Address of the server that runs with private services, as this machine reaches it. */
  readonly serverUrl?: string;
  readonly log: Log;
  readonly db: Database;
  /** Connects on first use. @throws CommandError when Redis cannot be reached */
  redis(): Promise<Redis>;
  /** That of tiles, which may be the same; otherwise as `redis`. */
  tilesRedis(): Promise<Redis>;
}

/**
 * Runs a command's work with the installation's database and Redis, and ends the connections. An empty database
 * gets the schema first. The private services of a checkout whose server does not run are started for as long as
 * the command needs them.
 */
export async function withServices<T>(
  env: CommandEnvironment,
  command: Command,
  work: (services: CommandServices) => Promise<T>,
): Promise<T> {
  // Commands report errors themselves.
  const log = createLog("silent", "mapwright");
  const missing = unconfigured(env, command);
  const { dataDir } = configOf(env, command);
  const local = missing.database && missing.redis ? await ensureLocalServices({ dataDir, log }) : undefined;
  try {
    return await withConnections(installationOf(env, command, {}, local), log, work);
  } finally {
    await local?.stop();
  }
}

async function withConnections<T>(
  { config, local }: ReturnType<typeof installationOf>,
  log: Log,
  work: (services: CommandServices) => Promise<T>,
): Promise<T> {
  const db = openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    keepsHistory: config.history.days > 0,
    connections: 2,
    statementTimeoutMs: config.statementTimeoutMs,
    log,
  });
  const connecting = new Map<string, Promise<Redis>>();
  const open = async (key: "redisUrl" | "tilesRedisUrl"): Promise<Redis> => {
    const { connectInTime, openRedis } = await import("../storage/redis.js");
    const opened = openRedis(config[key], log, { prefix: config.redisPrefix });
    try {
      await connectInTime(opened);
    } catch (error) {
      opened.disconnect();
      throw new CommandError(`Redis cannot be reached (${key}): ${reasonOf(error)}.`);
    }
    return opened;
  };
  const connect = (key: "redisUrl" | "tilesRedisUrl"): Promise<Redis> => {
    const known = connecting.get(config[key]);
    if (known) return known;
    const opening = open(key);
    connecting.set(config[key], opening);
    // Who is refused may try again.
    opening.catch(() => connecting.delete(config[key]));
    return opening;
  };
  try {
    await ensureSchema(db, config);
    return await work({
      config,
      ...(local?.serverUrl !== undefined && { serverUrl: local.serverUrl }),
      log,
      db,
      redis: () => connect("redisUrl"),
      tilesRedis: () => connect(config.tilesRedisUrl === "" ? "redisUrl" : "tilesRedisUrl"),
    });
  } finally {
    // Also one that is still being opened, for work that goes on by itself: open, it would keep the process for ever.
    await Promise.all(
      [...connecting.values()].map((opening) => opening.then((redis) => redis.disconnect(), noop)),
    );
    await db.close();
  }
}

const noop = () => undefined;

/** What to do when there is no database at the address of a command. */
export function adviceWithoutDatabase({ databaseUrl, redisUrl, dataDir }: Config): string {
  const running = readAddresses(dataDir);
  const isUnset = databaseUrl === loadConfig({ environment: {} }).databaseUrl;
  if (isUnset && running?.databaseUrl !== undefined && running.redisUrl !== redisUrl)
    return (
      `The private PostgreSQL of the server in ${dataDir} is not used, since REDIS_URL is another Redis than that server's: ` +
      "leave REDIS_URL out, or set DATABASE_URL, too."
    );
  return "Is `npm start` running, or DATABASE_URL set?";
}

/** A connection of its own. @param advice what to do when there is none @throws CommandError */
export async function connected(
  db: Database,
  advice: string,
): Promise<Awaited<ReturnType<Database["dedicated"]>>> {
  let setting = db.isPooled ? "databaseDirectUrl" : "databaseUrl";
  try {
    const client = await db.dedicated();
    setting = "databaseUrl";
    await db.requirePooler().catch(async (error: unknown) => {
      await client.end();
      throw error;
    });
    return client;
  } catch (failure) {
    const { cause: error = failure } = failure as Error;
    throw new CommandError(
      `PostgreSQL cannot be reached (${setting}): ${reasonOf(error)}. ${adviceOnRefusal(error) ?? advice}`,
    );
  }
}

/** For a server that is to be started with a database that is there. @throws CommandError */
export async function requireDatabase(config: Config): Promise<void> {
  const log = createLog("silent", "mapwright");
  const { databaseUrl: url, databaseDirectUrl: directUrl, statementTimeoutMs } = config;
  const db = openDatabase({ url, directUrl, connections: 1, statementTimeoutMs, log });
  try {
    const client = await connected(
      db,
      "Start it, give its address in DATABASE_URL, or start a private one with --local.",
    );
    await client.end();
  } finally {
    await db.close();
  }
}

async function ensureSchema(db: Database, config: Config): Promise<void> {
  const client = await connected(db, adviceWithoutDatabase(config));
  try {
    const { pending, isEmpty } = await pendingMigrations(client);
    if (isEmpty) await migrate(client);
    else if (pending.length > 0) {
      throw new CommandError(
        "The database's schema is older than this program: start the server once to update it.",
      );
    }
  } finally {
    await client.end();
  }
}

/** Waits until no node answers with data from before a command's change. */
export const propagateChange = ({ db, redis, config }: CommandServices): Promise<void> =>
  propagateFromCommand({ db, redis, redisPrefix: config.redisPrefix });
