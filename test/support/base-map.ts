import { configSchema } from "../../src/config.js";
import { ensureBaseMap } from "../../src/demo/base-map.js";
import type { LoadDependencies } from "../../src/demo/features.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { settingsOf, type TestDatabase } from "./database.js";
import { quietLog } from "./log.js";

/** A base map that counts as loaded and has no objects: to load it takes a server longer than many a test. */
export async function haveBaseMap(
  services: Pick<LoadDependencies, "db" | "transfer" | "config">,
): Promise<void> {
  await ensureBaseMap({ ...services, log: quietLog }, () => undefined, []);
  await services.db.execute("update layer set geometry_kind = 'Polygon' where geometry_kind = 'Unknown'");
}

/** The same before a server is started on the database. */
export async function haveBaseMapIn(database: TestDatabase): Promise<void> {
  const config = configSchema.parse(settingsOf(database));
  const db = openDatabase({ ...database.at, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  const transfer = createTransferHost(config, quietLog);
  try {
    await haveBaseMap({ db, transfer, config });
  } finally {
    await transfer.stop();
    await db.close();
  }
}
