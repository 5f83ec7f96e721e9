-- Takes the row of a layer's map, as whoever changes the layer's catalogue does first.
create or replace function lock_map_of(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
begin
  perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
end $$;
