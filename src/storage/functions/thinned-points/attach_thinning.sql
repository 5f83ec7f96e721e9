-- The triggers that note which points of a layer change.
create or replace function attach_thinning(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  -- By their names they come after the triggers touch_*, so that the layer's row is held when the tables are written.
  execute format('create or replace trigger touched_points_inserted after insert on layers.%I
    referencing new table as new_rows for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows
    for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_deleted after delete on layers.%I
    referencing old table as old_rows for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_truncated after truncate on layers.%I
    for each statement execute function note_points(%L)', layer_table, id_of_layer);
end $$;
