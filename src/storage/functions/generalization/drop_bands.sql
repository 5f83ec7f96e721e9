-- Drops the tables and triggers of a layer's bands, without a change of the layer's row.
create or replace function drop_bands(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  band int;
  event text;
begin
  foreach event in array array['inserted', 'updated', 'deleted', 'truncated'] loop
    execute format('drop trigger if exists bands_%s on layers.%I', event, 'l' || id_of_layer);
  end loop;
  for band in select unnest(bands) from layer where id = id_of_layer loop
    execute format('drop table if exists layers.%I', 'l' || id_of_layer || '_z' || band);
    execute format('drop table if exists layers.%I', 'l' || id_of_layer || '_g' || band);
  end loop;
end $$;
