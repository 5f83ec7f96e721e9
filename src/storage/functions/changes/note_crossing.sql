-- Keeps crosses_antimeridian up with a change in these boxes, and tells of large shapes. The column stays true until the layer's
-- table is replaced. The map's row is taken before the layer's, as others do.
create or replace function note_crossing(id_of_layer bigint, boxes double precision[]) returns void language plpgsql
set search_path from current as $$
begin
  if exists (select from unnest(boxes) with ordinality box (x, place) where place % 2 = 1 and abs(x) > 20037508.35)
    and exists (select from layer where id = id_of_layer and not crosses_antimeridian) then
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set crosses_antimeridian = true where id = id_of_layer and not crosses_antimeridian;
  end if;
  perform note_runs(id_of_layer);
end $$;
