import type { Config } from "../config.js";
import type { ExportHost } from "../hosts/export.js";
import type { Database } from "../storage/postgres.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";

/** What the writer of a format makes of a layer. */

export type Chunks = AsyncIterable<string | Uint8Array>;

export interface ContentFile {
  /** End of the file's name, after the layer's title: ".csv", "-lines.shp". */
  readonly ending: string;
  /**
   * A reader that stops early calls the iterator's `return`. Files after the first hold nothing until they are read, so that
   * nobody has to release them.
   */
  readonly chunks: Chunks;
}

export interface ExportContent {
  /** Exactly one, unless the format has several. */
  readonly files: readonly [ContentFile, ...ContentFile[]];
  /** One sentence for each thing that the format cannot hold, with the columns concerned; empty = the file has everything. */
  readonly notes: readonly string[];
  /** Character encoding, if it is no part of the format. */
  readonly charset?: string;
  /** Called once after the last chunk, and after a failure or when the reader stops early: removes temporary files. */
  readonly done?: () => Promise<void>;
}

/** What writers of files need. */
export interface FileExports {
  readonly host: ExportHost;
  /** Folder for temporary files. */
  readonly folder: string;
  readonly limits: Config["exports"];
}

/** What writers use. */
export interface ExportServices {
  readonly db: Database;
  /** For formats that are written to files before they are sent. */
  readonly files: FileExports;
}

/**
 * Starts to write a layer. Rejects if the statement fails immediately; then nothing is left to release.
 * @throws Failure unknown_column, invalid_value, busy
 */
export type FormatWriter = (
  services: ExportServices,
  target: ExportTarget,
  request: ExportRequest,
) => Promise<ExportContent>;
