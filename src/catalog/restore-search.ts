import type { Queryable } from "../storage/postgres.js";

/**
 * Puts settings of the search back: columns that are searched, in their places, or after the others when these are taken.
 * @param column the one that is restored; undefined = whole layers are
 */
export async function restoreSearch(
  tx: Queryable,
  mapId: number,
  rows: readonly object[],
  column?: number,
): Promise<void> {
  if (rows.length === 0) return;
  const given = [mapId, JSON.stringify(rows)];
  // Of those that stayed, what names a value that tells others apart, or weighs them.
  const stayed = await tx.query<{ place: number }>(
    `update search_setting s set
       detail_column_id = coalesce(s.detail_column_id, case when r.detail_column_id = $3 then $3 end),
       weight_column_id = coalesce(s.weight_column_id, case when r.weight_column_id = $3 then $3 end)
     from jsonb_populate_recordset(null::search_setting, $2) r
     where s.map_id = $1 and (s.place, s.layer_id, s.search_column_id, s.name_column_id)
       = (r.place, r.layer_id, r.search_column_id, r.name_column_id) returning s.place`,
    [...given, column ?? null],
  );
  await tx.execute(
    `with last as (select coalesce(max(place), 0) as place from search_setting where map_id = $1)
     insert into search_setting
     select (jsonb_populate_record(r, jsonb_build_object(
       'detail_column_id', (select id from layer_column where id = r.detail_column_id and layer_id = r.layer_id),
       'weight_column_id', (select id from layer_column where id = r.weight_column_id and layer_id = r.layer_id)))).*
     from last, jsonb_array_elements($2::jsonb) with ordinality given (row, nth),
       jsonb_populate_record(null::search_setting, row || jsonb_build_object('place',
         case when exists (select from search_setting s where s.map_id = $1 and s.place = (row->>'place')::int)
           then last.place + 1000 + nth else (row->>'place')::int end)) r
     where (row->>'place')::int <> all($3::int[])
       and exists (select from layer_column where id = r.search_column_id and layer_id = r.layer_id)
       and exists (select from layer_column where id = r.name_column_id and layer_id = r.layer_id)`,
    [...given, stayed.map(({ place }) => place)],
  );
}
