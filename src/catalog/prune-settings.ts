import type { Queryable } from "../storage/postgres.js";
import type { KnownColumn } from "../visual/columns.js";
import { pruneSettings } from "../visual/prune.js";
import type { SettingsKind } from "../visual/settings.js";
import type { StoredSettings } from "./state.js";

/** Adapts the stored settings of a layer to its columns. */

interface SettingsRow {
  readonly visualSettings: StoredSettings | null;
  readonly visualCustomSettings: StoredSettings | null;
  readonly vectorSettings: StoredSettings | null;
}

/** Columns as the transaction sees them, for `pruneSettings`. */
export const columnsOf = (tx: Queryable, layerId: number) =>
  tx.query<KnownColumn>("select id, type from layer_column where layer_id = $1", [layerId]);

/**
 * Prunes a layer's stored settings after columns were deleted or changed their type. If that removes its visualization, the
 * layer is rendered with its CartoCSS again. The caller has locked the map's row.
 * @returns whether something was removed
 */
export async function pruneStoredSettings(tx: Queryable, layerId: number): Promise<boolean> {
  const [row] = await tx.query<SettingsRow>(
    `select visual_settings as "visualSettings", visual_custom_settings as "visualCustomSettings",
       vector_settings as "vectorSettings" from node
     where id = $1 and num_nonnulls(visual_settings, visual_custom_settings, vector_settings) > 0`,
    [layerId],
  );
  if (!row) return false;
  const columns = await columnsOf(tx, layerId);
  const pruned = (kind: SettingsKind) => row[kind] && pruneSettings(kind, row[kind], columns);
  const [visual, custom, vector] = [
    pruned("visualSettings"),
    pruned("visualCustomSettings"),
    pruned("vectorSettings"),
  ];
  const isSame =
    visual === row.visualSettings && custom === row.visualCustomSettings && vector === row.vectorSettings;
  if (isSame) return false;
  const isDropped = !visual && !custom && (row.visualSettings ?? row.visualCustomSettings) !== null;
  const json = (settings: StoredSettings | null) => settings && JSON.stringify(settings);
  await tx.execute(
    `update node set visual_settings = $2, visual_custom_settings = $3, vector_settings = $4,
       style_mode = case when $5 then 2 else style_mode end where id = $1`,
    [layerId, json(visual), json(custom), json(vector), isDropped],
  );
  return true;
}
