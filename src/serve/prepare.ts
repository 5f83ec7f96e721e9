import { listProjects } from "../catalog/projects.js";
import type { Config } from "../config.js";
import { counted } from "../counted.js";
import { ensureBaseMap, groundLayers } from "../demo/base-map.js";
import type { LoadDependencies } from "../demo/features.js";
import { type DemoAccount, loadDemo } from "../demo/load.js";
import { createTransferHost } from "../hosts/transfer.js";
import type { Log } from "../log.js";
import { migrate } from "../storage/migrate.js";
import { openDatabase } from "../storage/postgres.js";
import { sweepTransfers } from "../transfer-leftovers.js";

/** Prepares the database: what nodes need before they start, and the rest. */

export interface Prepared {
  /** Users of the demo with their passwords, when it was loaded just now. */
  readonly demoAccounts: readonly DemoAccount[];
  readonly hasProjects: boolean;
  /** Whether the base map has all its layers. */
  readonly hasBaseMap: boolean;
}

export interface PrepareOptions {
  readonly config: Config;
  readonly log: Log;
  /** Whether an empty installation gets the demo project. */
  readonly demo: boolean;
  readonly progress: (text: string) => void;
}

/** Brings the schema up to date, loads what the base map needs first and, into an empty installation, the demo. */
export function prepare(options: PrepareOptions): Promise<Prepared> {
  const { config, progress } = options;
  return withImports(options, async (deps) => {
    const client = await deps.db.dedicated();
    try {
      const applied = await migrate(client);
      if (applied.length > 0)
        progress(`Database schema brought up to date (${counted(applied.length, "step")}).`);
    } finally {
      await client.end();
    }
    await sweepTransfers(deps.db, config.dataDir);
    const hasBaseMap = await ensureBaseMap(deps, progress, groundLayers);
    const demoAccounts = options.demo ? await loadDemo(deps, progress) : [];
    const hasProjects = (await listProjects(deps.db)).length > 0;
    return { demoAccounts, hasProjects, hasBaseMap };
  });
}

/** Loads what the base map lacks, while nodes serve. @throws the reason of the signal, or any error of an import */
export const completeBaseMap = (
  options: Pick<PrepareOptions, "config" | "log" | "progress"> & { readonly signal: AbortSignal },
): Promise<boolean> =>
  withImports(options, (deps) => ensureBaseMap({ ...deps, signal: options.signal }, options.progress));

async function withImports<T>(
  options: Pick<PrepareOptions, "config" | "log">,
  work: (deps: LoadDependencies) => Promise<T>,
): Promise<T> {
  const { config } = options;
  // `progress` reports what is loaded here.
  const log = options.log.child({}, { level: options.log.isLevelEnabled("debug") ? "debug" : "warn" });
  const db = openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    connections: 4,
    statementTimeoutMs: 600_000,
    log,
  });
  const transfer = createTransferHost(config, log);
  try {
    return await work({ db, transfer, log, config });
  } finally {
    await transfer.stop();
    await db.close();
  }
}
