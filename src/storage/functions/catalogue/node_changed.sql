-- Trigger: an element that comes or goes changes its map.
create or replace function node_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(coalesce(new.map_id, old.map_id));
  return null;
end $$;

create or replace trigger node_changed after insert or delete on node for each row execute function node_changed();
