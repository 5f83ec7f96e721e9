import type { Config } from "../config.js";
import { counted } from "../counted.js";
import { type LocalServices, startLocalServices } from "../local-services/services.js";
import type { Log } from "../log.js";
import { programName } from "../program-name.js";
import { Nodes } from "./nodes.js";
import { takePort } from "./port.js";
import { completeBaseMap, prepare } from "./prepare.js";

/** `mapwright serve`: starts everything, supervises it, and stops it. */

export interface ServeOptions {
  /** With the addresses of PostgreSQL and Redis that are not started here. */
  readonly config: Config;
  readonly log: Log;
  /** Which services to start privately under `config.dataDir`. */
  readonly local: { readonly database: boolean; readonly redis: boolean };
  /** Whether an empty installation gets the demo project. */
  readonly demo: boolean;
  /** Prints a line for the user. */
  readonly say: (line: string) => void;
  /** Ends the server when it aborts. */
  readonly signal: AbortSignal;
  /** Whether balancers are told before it ends: a person at the terminal waits for nobody. */
  readonly drains: () => boolean;
}

/** Serves until `signal` aborts. @throws Error when something could not be started; what was started is ended */
export async function serve(options: ServeOptions): Promise<void> {
  const { log, say, signal } = options;
  const ending: (() => Promise<void>)[] = [];
  try {
    // First, so that a second server on the same port changes nothing.
    const { address, port, release } = await takePort(options.config.host, options.config.port, signal);
    ending.push(release);
    const viewer = viewerAddress(options.config, port);
    const services = await startServices(options, viewer.replace(/\/$/, ""), ending);
    const config: Config = {
      ...options.config,
      host: address,
      port,
      ...(services?.databaseUrl ? { databaseUrl: services.databaseUrl } : {}),
      ...(services?.redisUrl ? { redisUrl: services.redisUrl } : {}),
    };
    signal.throwIfAborted();
    const prepared = await prepare({ config, log, demo: options.demo, progress: say });
    const { demoAccounts, hasProjects, hasBaseMap } = prepared;
    signal.throwIfAborted();
    const nodes = new Nodes(config, log);
    const { drainSeconds, requestSeconds } = config.stop;
    const drainedSeconds = () => (options.drains() ? drainSeconds : 0);
    ending.unshift(() => nodes.stop(1_000 * requestSeconds, 1_000 * drainedSeconds()));
    await nodes.start();
    say(`Mapwright is ready: ${viewer}`);
    say(`Make maps: ${viewer}console/`);
    say(`Documentation: ${viewer}docs/`);
    if (demoAccounts.length > 0) {
      say("Sign in to the project demo with (shown this once):");
      for (const { login, password } of demoAccounts) say(`  ${login.padEnd(8)} ${password}`);
    } else if (hasProjects) {
      say(`Sign in with a user of the project; ${programName()} user password LOGIN sets a new password.`);
    } else {
      say("There is no project yet. Make one, and its first user:");
      say(`  ${programName()} project create CODE --languages en`);
      say(`  ${programName()} user add LOGIN --project CODE --role admin`);
    }
    say("Ctrl-C stops it.");
    if (!hasBaseMap) {
      const completed = completeBaseMap({ config, log, progress: say, signal }).catch((error: Error) => {
        if (!signal.aborted) log.error({ err: error }, "the base map could not be loaded");
      });
      ending.unshift(async () => void (await completed));
    }
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    if (drainedSeconds() > 0)
      say(
        `Stopping: balancers are told for ${counted(drainSeconds, "second")} before connections are refused.`,
      );
    say(`Stopping: running requests have ${counted(requestSeconds, "second")}.`);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const end of ending) {
      await end().catch((error: Error) => log.error({ err: error }, "while stopping"));
    }
  }
}

async function startServices(
  options: ServeOptions,
  serverUrl: string,
  ending: (() => Promise<void>)[],
): Promise<LocalServices | undefined> {
  const { database, redis } = options.local;
  if (!database && !redis) return undefined;
  const services = await startLocalServices({
    dataDir: options.config.dataDir,
    log: options.log,
    durable: true,
    database,
    redis,
    progress: options.say,
    serverUrl,
  });
  ending.push(() => services.stop());
  return services;
}

/** Address of the viewer: the configured public one, else one for a browser on this machine. */
function viewerAddress(config: Config, port: number): string {
  if (/^https?:/.test(config.baseUrl)) return `${config.baseUrl}/`;
  const named = config.host.includes(":") ? `[${config.host}]` : config.host;
  const host = config.host === "0.0.0.0" || config.host === "::" ? "localhost" : named;
  return `http://${host}:${port}${config.baseUrl}/`;
}
