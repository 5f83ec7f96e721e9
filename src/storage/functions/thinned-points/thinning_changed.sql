-- Trigger: a changed thinning changes the layer's map.
create or replace function thinning_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(n.map_id) from node n where n.id = coalesce(new.layer_id, old.layer_id);
  return null;
end $$;

create or replace trigger thinning_changed after insert or update or delete on thinning
  for each row execute function thinning_changed();
