-- Puts the runs of a filled table of the schema staging in the place of the layer's.
create or replace function replace_runs(id_of_layer bigint, filled text) returns void language plpgsql
set search_path from current as $$
declare
  name text := 'l' || id_of_layer || '_c';
  are_there boolean := to_regclass(format('staging.%I', filled || '_c')) is not null;
begin
  execute format('drop table if exists layers.%I', name);
  if are_there then
    execute format('alter table staging.%I rename to %I', filled || '_c', name);
    execute format('alter table staging.%I set schema layers', name);
    execute format('alter table layers.%I rename constraint %I to %I', name, filled || '_c_pkey', name || '_pkey');
  end if;
  update layer set has_runs = are_there where id = id_of_layer and has_runs <> are_there;
end $$;
