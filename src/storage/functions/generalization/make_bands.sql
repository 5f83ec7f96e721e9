-- Makes the bands of a table that nobody changes meanwhile, beside it, where they are much lighter than the table: each from the
-- next finer one, by several processes where there are some, though sessions take one each. Returns their zooms.
create or replace function make_bands(schema_name text, table_name text) returns int[] language plpgsql set search_path from current set max_parallel_workers_per_gather = 2 as $$
declare
  made int[] := '{}';
  band int;
  finer bigint;
  kept bigint;
  band_table text;
  source text := format('select svc_id, geom_3857 as g from %I.%I where geom_3857 is not null', schema_name, table_name);
begin
  execute format('select coalesce(sum(st_npoints(geom_3857)) filter (where st_dimension(geom_3857) > 0), 0) from %I.%I',
    schema_name, table_name) into finer;
  if finer < 20000 then return made; end if;
  perform set_config('work_mem', '128MB', true);
  -- From the finest band on; each is made only if it is much lighter than the next finer one.
  foreach band in array array[10, 8, 6, 4, 2, 0] loop
    band_table := format('%I.%I', schema_name, table_name || '_z' || band);
    execute format('create table %s as select svc_id, g::geometry(Geometry, 3857) as geom from (
        select svc_id, mapwright.generalized(g, mapwright.pixel_metres(%s)) g from (%s) s offset 0) n
      where g is not null order by st_envelope(g)', band_table, band, source);
    execute format('select coalesce(sum(st_npoints(geom)), 0) from %s', band_table) into kept;
    if kept > finer * 0.8 then
      execute format('drop table %s', band_table);
      continue;
    end if;
    execute format('alter table %s add primary key (svc_id), alter geom set not null', band_table);
    execute format('create index on %s using gist (geom)', band_table);
    execute format('analyze %s', band_table);
    execute format('create table %1$I.%2$I as
      select dimension, x, y, n, size, sx, sy, array(select i.place from unnest(found) i (place) order by 1 limit places_kept()) as places
      from (select dimension, x, y, count(*) as n, sum(size)::bigint as size, sum(fx)::bigint as sx, sum(fy)::bigint as sy,
          array_agg(place) as found
        from (%3$s) s group by 1, 2, 3) sums', schema_name, table_name || '_g' || band, small_sql(
      format('select svc_id, geom_3857 from %I.%I', schema_name, table_name), band_table, band));
    execute format('alter table %I.%I add primary key (dimension, x, y)', schema_name, table_name || '_g' || band);
    execute format('analyze %I.%I', schema_name, table_name || '_g' || band);
    source := format('select svc_id, geom as g from %s', band_table);
    finer := kept;
    made := band || made;
  end loop;
  return made;
end $$;
