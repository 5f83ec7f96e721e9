import { failed, notFound } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { pruneSettings } from "../visual/prune.js";
import type { SettingsKind } from "../visual/settings.js";
import { columnsOf } from "./prune-settings.js";
import type { StoredSettings } from "./state.js";
import { lockMap } from "./tree.js";

/** Stores the visualization settings of layers. */

const stored = {
  visualSettings: "visual_settings",
  visualCustomSettings: "visual_custom_settings",
  vectorSettings: "vector_settings",
} as const;

/** Values of `style_mode`: 2 = CartoCSS, 3 = visualization, 4 = custom visualization. */
const styleModes = { visualSettings: 3, visualCustomSettings: 4 } as const;

/**
 * Stores settings that `readSettings` checked. They keep the id of the settings that they replace. Visual and custom
 * settings replace each other: a layer has one visualization.
 * @param settings null = deleted
 * @throws Failure not_found when the layer was deleted, invalid_value when a column was
 */
export function storeSettings(
  db: Database,
  at: { readonly mapId: number; readonly layerId: number },
  kind: SettingsKind,
  settings: StoredSettings | null,
): Promise<void> {
  const column = stored[kind];
  const value = `case when $2::jsonb is null then null
    else $2::jsonb || jsonb_build_object('id', coalesce(${column} -> 'id', to_jsonb(nextval('container_id')))) end`;
  const other = kind === "visualSettings" ? stored.visualCustomSettings : stored.visualSettings;
  const mode = kind === "vectorSettings" || !settings ? 2 : styleModes[kind];
  const rest =
    kind === "vectorSettings" ? `render_type = ${settings ? 1 : 0}` : `${other} = null, style_mode = ${mode}`;
  return db.transaction(async (tx) => {
    await lockMap(tx, at.mapId);
    const changed = await tx.execute(`update node set ${column} = ${value}, ${rest} where id = $1`, [
      at.layerId,
      settings && JSON.stringify(settings),
    ]);
    if (changed === 0) throw notFound("layer of that code");
    if (settings && pruneSettings(kind, settings, await columnsOf(tx, at.layerId)) !== settings)
      throw failed("invalid_value", "The layer's columns were just changed.", { parameter: kind });
  });
}
