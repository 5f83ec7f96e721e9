-- Those of the bands that are much lighter than the objects also with what is drawn under strokes (layer.gathered). What a band
-- costs is counted in vertices, where an object is as much as eight of them more: rows have to be found, sent and drawn.
create or replace function light_bands(schema_name text, table_name text, made int[]) returns int[] language plpgsql
set search_path from current as $$
declare
  found int[] := '{}';
  band int;
  whole bigint;
  is_light boolean;
begin
  if cardinality(made) = 0 then return found; end if;
  execute format('select sum(8 + st_npoints(geom_3857)) from %I.%I', schema_name, table_name) into whole;
  foreach band in array made loop
    execute format('select (select coalesce(sum(8 + st_npoints(geom)), 0) from %I.%I)
        + (select coalesce(sum(case dimension when 1 then 10 else 13 end * cardinality(places)), 0) from %I.%I) <= 0.7 * $1',
      schema_name, table_name || '_z' || band, schema_name, table_name || '_g' || band) into is_light using whole;
    if is_light then found := found || band; end if;
  end loop;
  return found;
end $$;
