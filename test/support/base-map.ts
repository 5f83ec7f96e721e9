import { haveEmptyBaseMap } from "../../bench/empty-base-map.js";
import { configSchema } from "../../src/config.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { settingsOf, type TestDatabase } from "./database.js";
import { quietLog } from "./log.js";

/** An empty base map, before a server is started on the database: to load it takes longer than many a test. */
export async function haveBaseMapIn(database: TestDatabase): Promise<void> {
  const config = configSchema.parse(settingsOf(database));
  const db = openDatabase({ ...database.at, connections: 1, statementTimeoutMs: 60_000, log: quietLog });
  const transfer = createTransferHost(config, quietLog);
  try {
    await haveEmptyBaseMap({ db, transfer, config, log: quietLog });
  } finally {
    await transfer.stop();
    await db.close();
  }
}
