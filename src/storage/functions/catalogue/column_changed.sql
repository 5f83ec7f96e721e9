-- Trigger of what belongs to a layer: changes the layer's map. Layer 0 is that of deleted columns.
create or replace function column_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(n.map_id) from node n
    where n.id = coalesce(nullif(new.layer_id, 0), old.layer_id) and n.id <> 0;
  return null;
end $$;

create or replace trigger column_changed after insert or update or delete on layer_column
  for each row execute function column_changed();

create or replace trigger constraint_changed after insert or update or delete on column_constraint
  for each row execute function column_changed();

create or replace trigger raster_changed after insert or update or delete on raster
  for each row execute function column_changed();
