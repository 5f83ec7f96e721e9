-- The triggers that keep the runs of a layer's large shapes up.
create or replace function attach_runs(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  execute format('create trigger runs_inserted after insert on layers.%I
    for each row when (mapwright.is_large(new.geom_3857)) execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_updated after update of geom, geom_3857 on layers.%I
    for each row when (mapwright.is_large(old.geom_3857) or mapwright.is_large(new.geom_3857))
    execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_deleted after delete on layers.%I
    for each row when (mapwright.is_large(old.geom_3857)) execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_truncated after truncate on layers.%I
    for each statement execute function keep_runs(%L)', layer_table, id_of_layer);
end $$;
