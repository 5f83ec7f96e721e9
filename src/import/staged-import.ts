import type { ImportResponse } from "../hosts/import-messages.js";
import type { ImportOptions, ImportSource, ImportTarget } from "./import-request.js";

/** What the transfer host reports of a file of features that it has read. */
export type StagedFile = Extract<ImportResponse, { ok: true; raster?: undefined }>;

/** An import whose file has been read into the staging table. */
export interface StagedImport {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  /** Name of the staging table. */
  readonly table: string;
  readonly file: StagedFile;
  readonly options: ImportOptions;
  /** Bound of each statement. */
  readonly timeoutMs: number;
}
