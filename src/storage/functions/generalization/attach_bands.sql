-- The triggers that keep a layer's bands up.
create or replace function attach_bands(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  execute format('create trigger bands_inserted after insert on layers.%I referencing new table as new_rows
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_deleted after delete on layers.%I referencing old table as old_rows
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_truncated after truncate on layers.%I
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
end $$;
