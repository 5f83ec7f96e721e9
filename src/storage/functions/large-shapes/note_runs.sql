-- Lets readers know that a layer has runs. Called when its version moves; the map's row is taken before the layer's.
create or replace function note_runs(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
begin
  if to_regclass(format('layers.l%s_c', id_of_layer)) is not null
    and exists (select from layer where id = id_of_layer and not has_runs) then
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set has_runs = true where id = id_of_layer and not has_runs;
  end if;
end $$;
