import type { Config } from "../config.js";
import { createExportHost } from "../hosts/export.js";
import type { Log } from "../log.js";
import type { FileExports } from "./export-content.js";
import { exportsFolder } from "./export-folders.js";

/** What exports to files need, for a node or a command. The process that writes them starts at the first one. */
export const createFileExports = (config: Config, log: Log): FileExports => ({
  host: createExportHost(config, log),
  folder: exportsFolder(config.dataDir),
  limits: config.exports,
});
