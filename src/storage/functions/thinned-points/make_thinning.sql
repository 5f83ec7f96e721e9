-- Makes the tables of a thinning beside a table that nobody changes meanwhile; returns their zooms. Each has at most 60 % of the
-- rows of the next finer one. A band is made only if it will be lighter, by what is estimated of each second zoom: where rules
-- draw most of the points in any case, no copy of them is.
create or replace function make_thinning(schema_name text, table_name text, spec thinning) returns int[]
language plpgsql set search_path from current as $$
declare
  finest int := least(12, cardinality(spec.kinds) - 1);
  made int[] := '{}';
  rows_before bigint;
  rows_now bigint;
  -- Rows that the bands of the zooms 0, 2, 4 ... would have. Those of the zooms between have no fewer than the one before.
  estimates bigint[];
  zoom int;
  finer int;
  band_table text;
begin
  execute format('select count(*) from %I.%I where geom_3857 is not null', schema_name, table_name) into rows_before;
  if rows_before < 20000 then return made; end if;
  perform set_config('work_mem', '128MB', true);
  -- By the rows whose hash is one of a few.
  execute format('select array_agg(rows order by zoom) from (
      select zoom, count(*) * %1$s as rows from (
        select distinct zoom, key from (
          select unnest(array[%2$s]) as zoom, unnest(array[%3$s]) as key from (%4$s) p) keys
        where key & 1023 < 1024 / %1$s) few
      group by zoom) found',
    greatest(1, least(1024, 2 ^ floor(log(2, rows_before / 20000.0)))::int),
    (select string_agg(z::text, ', ' order by z) from generate_series(0, finest, 2) z),
    (select string_agg(format('case when bits & %s <> 0 then hashint8extended(svc_id, 1) else hashint8extended(
        ((x >> %s)::bigint << 32) | ((y >> %2$s)::bigint & 4294967295), bits & %3$s) end',
        keep_mask(spec, z), finest - z, spec.kinds[z + 1]), ', ' order by z) from generate_series(0, finest, 2) z),
    points_sql(schema_name, table_name, spec, finest)) into estimates;
  for zoom in reverse finest .. 0 loop
    continue when estimates[zoom / 2 + 1] > 0.6 * rows_before;
    band_table := format('%I.%I', schema_name, format('%s_p%s_z%s', table_name, spec.number, zoom));
    execute format('create table %s as %s', band_table, thinned_sql(case when finer is null
      then points_sql(schema_name, table_name, spec, zoom)
      else coarser_sql(format('%I.%I', schema_name, format('%s_p%s_z%s', table_name, spec.number, finer)), finer - zoom) end, spec, zoom));
    get diagnostics rows_now = row_count;
    if rows_now > 0.6 * rows_before then
      execute format('drop table %s', band_table);
      continue;
    end if;
    execute format('alter table %s add primary key (x, y, class)', band_table);
    execute format('create index on %s using gist (geom)', band_table);
    if finer is null then execute format('create index on %s (svc_id)', band_table); end if;
    execute format('analyze %s', band_table);
    rows_before := rows_now;
    finer := zoom;
    made := zoom || made;
  end loop;
  if cardinality(made) > 0 then perform sample_classes(schema_name, table_name, spec, null); end if;
  return made;
end $$;
