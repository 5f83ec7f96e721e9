-- Mean of stroke_bends() over lines of a table, by a sample.
create or replace function mean_bends(schema_name text, table_name text) returns real language plpgsql set search_path from current as $$
declare
  found real;
begin
  -- About 4,000 rows, wherever they lie.
  execute format('select avg(stroke_bends(geom_3857)) from (
      select geom_3857 from %1$I.%2$I tablesample system (%3$s) repeatable (1)
      where st_dimension(geom_3857) = 1 and st_npoints(geom_3857) < 200 limit 2000) some_lines', schema_name, table_name,
    (select greatest(0.001, least(100, 400000 / greatest(reltuples, 1))) from pg_class
      where oid = to_regclass(format('%I.%I', schema_name, table_name)))) into found;
  return coalesce(found, 0);
end $$;
