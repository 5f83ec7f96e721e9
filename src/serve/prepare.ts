import type { Config } from "../config.js";
import { ensureBaseMap } from "../demo/base-map.js";
import { type DemoAccount, loadDemo } from "../demo/load.js";
import { createTransferHost } from "../hosts/transfer.js";
import type { Log } from "../log.js";
import { migrate } from "../storage/migrate.js";
import { openDatabase } from "../storage/postgres.js";
import { sweepTransfers } from "../transfer-leftovers.js";

/** Prepares the database before nodes start. */

export interface Prepared {
  /** Users of the demo with their passwords, when it was loaded just now. */
  readonly demoAccounts: readonly DemoAccount[];
}

export interface PrepareOptions {
  readonly config: Config;
  readonly log: Log;
  /** Whether an empty installation gets the demo project. */
  readonly demo: boolean;
  readonly progress: (text: string) => void;
}

/** Brings the schema up to date, loads the base map and, into an empty installation, the demo. */
export async function prepare(options: PrepareOptions): Promise<Prepared> {
  const { config, progress } = options;
  // `progress` reports what is loaded here.
  const log = options.log.child({}, { level: options.log.isLevelEnabled("debug") ? "debug" : "warn" });
  const db = openDatabase({ url: config.databaseUrl, connections: 4, statementTimeoutMs: 600_000, log });
  try {
    const client = await db.dedicated();
    try {
      const applied = await migrate(client);
      if (applied.length > 0)
        progress(
          `Database schema brought up to date (${applied.length} ${applied.length === 1 ? "step" : "steps"}).`,
        );
    } finally {
      await client.end();
    }
    await sweepTransfers(db, config.dataDir);
    const transfer = createTransferHost(config, log);
    try {
      const deps = { db, transfer, log, config };
      await ensureBaseMap(deps, progress);
      const demoAccounts = options.demo ? await loadDemo(deps, progress) : [];
      return { demoAccounts };
    } finally {
      await transfer.stop();
    }
  } finally {
    await db.close();
  }
}
