import { join } from "node:path";
import { exportsFolder, sweepExportFolders } from "./export/export-folders.js";
import { sweepImportFolders } from "./import/import-folder.js";
import { sweepStaging } from "./import/staging.js";
import type { Database } from "./storage/postgres.js";

/** Removes what imports and exports of killed processes left in the database and in the folder of data. */
export async function sweepTransfers(db: Database, dataDir: string): Promise<void> {
  await sweepStaging(db);
  await sweepImportFolders(join(dataDir, "tmp"));
  await sweepExportFolders(exportsFolder(dataDir));
}
