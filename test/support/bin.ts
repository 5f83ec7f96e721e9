import { purgeBin } from "../../src/catalog/bin-contents.js";
import { removeAll } from "../../src/catalog/removal.js";
import type { Database } from "../../src/storage/postgres.js";

/** Takes everything out of the bins of all projects, and removes it. */
export async function emptyBins(db: Database): Promise<void> {
  while ((await purgeBin(db, { olderThanDays: 0, now: new Date(Date.now() + 60_000) })) > 0);
  await removeAll(db);
}
