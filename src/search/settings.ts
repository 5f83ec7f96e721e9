import { lockMap } from "../catalog/tree.js";
import { notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";

/** The search settings of a map: which columns are searched, in which order. */

export interface SearchSetting {
  readonly layerId: number;
  readonly searchColumnId: number;
  /** The column with the names of the objects. */
  readonly nameColumnId: number;
  /** Entries with a higher priority are searched first; null counts as 0. */
  readonly priority: number | null;
  /** The column of numbers by which objects that match as well as others are ordered, the greatest first. */
  readonly weightColumnId?: number | null;
  /** The column whose value tells objects of one name apart. */
  readonly detailColumnId?: number | null;
}

/** SQL for the settings of a map as JSON, in order; `placeholder` is the parameter with the map id. */
export const settingsSql = (placeholder: string): string =>
  `(select coalesce(json_agg(json_build_object('layerId', layer_id, 'searchColumnId', search_column_id,
     'nameColumnId', name_column_id, 'priority', priority, 'weightColumnId', weight_column_id,
     'detailColumnId', detail_column_id) order by place), '[]')
   from search_setting where map_id = ${placeholder})`;

/** The settings of a map, in order; empty = default settings. */
export async function loadSettings(db: Queryable, mapId: number): Promise<SearchSetting[]> {
  const [row] = await db.query<{ settings: SearchSetting[] }>(`select ${settingsSql("$1")} as settings`, [
    mapId,
  ]);
  return row!.settings;
}

/**
 * Replaces the settings of a map; empty = default settings.
 * @throws Failure not_found when the map, or a layer or column in the settings, was deleted
 */
export async function saveSettings(
  db: Database,
  mapId: number,
  settings: readonly SearchSetting[],
): Promise<void> {
  try {
    await db.transaction(async (tx) => {
      await lockMap(tx, mapId);
      await tx.execute("delete from search_setting where map_id = $1", [mapId]);
      await tx.execute(
        `insert into search_setting (map_id, place, layer_id, search_column_id, name_column_id, priority,
           weight_column_id, detail_column_id)
         select $1, place, (s->>'layerId')::bigint, (s->>'searchColumnId')::int, (s->>'nameColumnId')::int,
           (s->>'priority')::float8, (s->>'weightColumnId')::int, (s->>'detailColumnId')::int
         from jsonb_array_elements($2::jsonb) with ordinality list (s, place)`,
        [mapId, JSON.stringify(settings)],
      );
    });
  } catch (error) {
    // 23503 foreign_key_violation
    if ((error as { code?: string }).code === "23503")
      throw notFound("layer or column of that code any more");
    throw error;
  }
}
