-- Puts the tables of sums in the place of the layer's, whose table and bands have been replaced.
create or replace function replace_gathered(id_of_layer bigint, filled text, made int[]) returns void
language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  band int;
begin
  foreach band in array array[0, 2, 4, 6, 8, 10] loop
    execute format('drop table if exists layers.%I', name || '_g' || band);
  end loop;
  foreach band in array made loop
    execute format('alter table staging.%I rename to %I', filled || '_g' || band, name || '_g' || band);
    execute format('alter table staging.%I set schema layers', name || '_g' || band);
    execute format('alter table layers.%I rename constraint %I to %I', name || '_g' || band,
      filled || '_g' || band || '_pkey', name || '_g' || band || '_pkey');
  end loop;
  update layer set gathered = case when cardinality(made) > 0 then light_bands('layers', name, made) end
    where id = id_of_layer;
end $$;
