-- Trigger: what a tile's plan depends on changes the layer's map. Versions of a layer change with every edit and have their own log.
create or replace function layer_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(n.map_id) from node n where n.id = new.id;
  return null;
end $$;

create or replace trigger layer_changed after update of geometry_kind, bands, gathered, crosses_antimeridian on layer
  for each row execute function layer_changed();

create or replace trigger layer_crowds_changed after update of crowds on layer
  for each row when (old.crowds is distinct from new.crowds) execute function layer_changed();

create or replace trigger layer_runs_changed after update of has_runs on layer for each row execute function layer_changed();
