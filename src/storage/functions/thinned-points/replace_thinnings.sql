-- Puts them in the place of the layer's. Its table has been replaced.
create or replace function replace_thinnings(id_of_layer bigint, filled text, made jsonb) returns void
language plpgsql set search_path from current as $$
declare
  spec thinning;
  band int;
  band_index record;
begin
  perform drop_thinning(id_of_layer, number) from thinning where layer_id = id_of_layer;
  for spec in select (jsonb_populate_record(null::thinning, each)).* from jsonb_array_elements(made) each loop
    continue when cardinality(spec.bands) = 0;
    foreach band in array spec.bands loop
      execute format('alter table staging.%I rename to %I', format('%s_p%s_z%s', filled, spec.number, band),
        format('l%s_p%s_z%s', id_of_layer, spec.number, band));
      execute format('alter table staging.%I set schema layers', format('l%s_p%s_z%s', id_of_layer, spec.number, band));
      for band_index in
        select indexrelid::regclass as old_name, replace(c.relname, filled || '_p', format('l%s_p', id_of_layer)) as new_name
        from pg_index join pg_class c on c.oid = indexrelid
        where indrelid = to_regclass(format('layers.l%s_p%s_z%s', id_of_layer, spec.number, band))
      loop
        execute format('alter index %s rename to %I', band_index.old_name, band_index.new_name);
      end loop;
    end loop;
    insert into thinning select spec.*;
    perform sample_classes('layers', 'l' || id_of_layer, spec, null);
    perform attach_thinning(id_of_layer);
  end loop;
end $$;
