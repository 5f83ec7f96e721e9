import type { ColumnType } from "../column-types/column-types.js";
import type { Settings } from "./columns.js";
import type { Range } from "./values.js";

/**
 * Custom visualizations: plug-ins that the configuration names. A plug-in turns settings into CartoCSS, which is compiled and
 * checked as any other: tiles, legends and symbols are made from it. It runs in the server's process, so it is as trusted as
 * the server itself; what it throws costs its own layers their picture only.
 */

/** What a plug-in's module exports by default. */
export interface VisualPlugin {
  /** `type` of its settings. */
  readonly name: string;
  /**
   * Checks settings and adds defaults. Throws an Error with a sentence for the user where they are wrong.
   * @param settings of a request: plain data in which columns are named by their UUIDs
   */
  readonly read: (settings: Settings, columns: PluginColumns) => Settings;
  /** UUID of the column whose least and greatest value `style` needs; undefined = none. */
  readonly scaledBy?: (settings: Settings) => string | undefined;
  /** CartoCSS, in which every `#id` is the layer and `[code]` a column. */
  readonly style: (settings: Settings, columns: PluginColumns, range: Range | null) => string;
}

/** The layer's columns by the UUIDs of the settings. Columns may have been deleted since. */
export type PluginColumns = ReadonlyMap<string, { readonly code: string; readonly type: ColumnType }>;
