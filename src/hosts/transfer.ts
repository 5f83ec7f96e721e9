import type { ImportRequest, ImportResponse } from "./messages.js";

/** The child process that reads and writes files of geodata through GDAL. */
export interface TransferHost {
  /** @throws Failure import_failed when the host died or overran its deadline over this file */
  import(request: ImportRequest, signal?: AbortSignal): Promise<ImportResponse>;
}
