import type { MercatorBox } from "../geo/tile.js";
import type { Queryable } from "../storage/postgres.js";
import { keptFor, keptOfEachLayer } from "./prune.js";

/**
 * Where objects of the layers have changed, as far as the change log goes back.
 * @returns boxes in metres of EPSG:3857; undefined = it may have been anywhere
 */
export async function changedAreas(
  db: Queryable,
  layerIds: readonly number[],
  since: Date,
): Promise<MercatorBox[] | undefined> {
  const rows = await db.query<{ area: number[] | null }>(
    `select area from layer_change where layer_id = any($1) and changed_at >= $2
     union all
     -- Changes of the log's beginning may be deleted already.
     select null from layer l where id = any($1) and changed_at >= $2
       and not exists (select from layer_change c where c.layer_id = l.id and c.changed_at < $2)
       and ($2 < now() - $3::interval or (select count(*) from layer_change c where c.layer_id = l.id) >= $4)`,
    [layerIds, since, keptFor, keptOfEachLayer],
  );
  const boxes: MercatorBox[] = [];
  for (const { area } of rows) {
    if (!area) return undefined;
    for (let at = 0; at + 3 < area.length; at += 4)
      boxes.push([area[at]!, area[at + 1]!, area[at + 2]!, area[at + 3]!]);
  }
  return boxes;
}
