-- Makes the table of a layer's table, if there are large shapes. Returns whether there are.
create or replace function make_runs(schema_name text, table_name text) returns boolean language plpgsql
set search_path from current as $$
declare
  found_one boolean;
begin
  execute format('select exists (select from %I.%I where is_large(geom_3857))', schema_name, table_name) into found_one;
  if not found_one then return false; end if;
  perform create_runs_table(schema_name, table_name);
  execute format('insert into %I.%I select o.svc_id, r.* from %I.%I o, lateral runs_of(o.geom_3857) r where is_large(o.geom_3857)',
    schema_name, table_name || '_c', schema_name, table_name);
  execute format('analyze %I.%I', schema_name, table_name || '_c');
  return true;
end $$;
