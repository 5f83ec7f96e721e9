import type { Catalog } from "../catalog/catalog.js";
import type { Sessions } from "../catalog/sessions.js";
import type { Config } from "../config.js";
import type { TransferHost } from "../hosts/transfer.js";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";
import type { StyleCompiler } from "../style/compiler.js";
import type { Changes } from "../tiles/changes.js";
import type { TileService } from "../tiles/service.js";

/** What handlers work with; wired together in `main.ts`. */
export interface Services {
  readonly config: Config;
  readonly log: Log;
  readonly db: Database;
  readonly catalog: Catalog;
  readonly sessions: Sessions;
  readonly styles: StyleCompiler;
  readonly transfer: TransferHost;
  readonly changes: Changes;
  readonly tiles: TileService;
}
