-- For each statement and not for each element, of which many may change at once; an element that leaves a map changes that one
-- too.
create or replace function nodes_updated() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(map_id)
    from (select map_id from old_nodes union select map_id from new_nodes order by map_id) touched;
  return null;
end $$;

create or replace trigger nodes_updated after update on node referencing old table as old_nodes new table as new_nodes
  for each statement execute function nodes_updated();
