-- The triggers of a tally, in place of those of another. The table's writers must be kept out until the counts are there.
create or replace function attach_tally(id_of_layer bigint, tally bigint, bucket text) returns void
language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  execute format('create or replace trigger tally_inserted after insert on layers.%I referencing new table as new_rows
    for each statement execute function keep_tally(%L, %L)', layer_table, tally, bucket);
  execute format('create or replace trigger tally_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows for each statement execute function keep_tally(%L, %L)',
    layer_table, tally, bucket);
  execute format('create or replace trigger tally_deleted after delete on layers.%I referencing old table as old_rows
    for each statement execute function keep_tally(%L, %L)', layer_table, tally, bucket);
end $$;
