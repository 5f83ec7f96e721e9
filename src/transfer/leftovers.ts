import { join } from "node:path";
import type { Database } from "../storage/postgres.js";
import { exportsFolder, sweepExportFolders } from "./export-folders.js";
import { sweepImportFolders } from "./import-folder.js";
import { sweepStaging } from "./staging.js";

/** Removes what imports and exports of killed processes left in the database and in the folder of data. */
export async function sweepTransfers(db: Database, dataDir: string): Promise<void> {
  await sweepStaging(db);
  await sweepImportFolders(join(dataDir, "tmp"));
  await sweepExportFolders(exportsFolder(dataDir));
}
