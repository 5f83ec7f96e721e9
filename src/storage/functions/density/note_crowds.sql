-- Looks at how crowded a layer is (layer.crowds). Several processes of the database may work at it.
create or replace function note_crowds(id_of_layer bigint) returns void language plpgsql set search_path from current set max_parallel_workers_per_gather = 2 as $$
declare
  found_crowds real[] := crowds_of('layers', 'l' || id_of_layer);
  rows_now real := (select reltuples from pg_class where oid = to_regclass('layers.l' || id_of_layer));
begin
  if exists (select from layer where id = id_of_layer and crowds is distinct from found_crowds) then
    -- The map's row is taken before those of its layers, here as elsewhere.
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set crowds = found_crowds where id = id_of_layer;
  end if;
  update layer set crowds_rows = rows_now where id = id_of_layer;
end $$;
