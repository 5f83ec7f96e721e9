-- Those of a table that has been analyzed. Its pages are sampled, so that it takes the same time for any size.
create or replace function crowds_of(schema_name text, table_name text) returns real[] language plpgsql set search_path from current as $$
declare
  pages bigint := pg_relation_size(format('%I.%I', schema_name, table_name)::regclass) / current_setting('block_size')::int;
  share double precision := least(1, 500.0 / greatest(pages, 1));
  found real[];
begin
  if (select reltuples from pg_class where oid = format('%I.%I', schema_name, table_name)::regclass) < 20000 then return null; end if;
  execute format('with sampled as materialized (
      select floor((st_xmin(geom_3857) + st_xmax(geom_3857)) / 2 / %1$s)::int + 2048 as x,
        floor((st_ymin(geom_3857) + st_ymax(geom_3857)) / 2 / %1$s)::int + 2048 as y
      from %2$I.%3$I tablesample system (%4$s) repeatable (1) where geom_3857 is not null
    ), squares as (
      select zoom, count(*)::float8 as n from sampled, generate_series(2, 14) zoom group by zoom, x >> (14 - zoom), y >> (14 - zoom)
    )
    select array_agg(n order by zoom) from (
      select zoom, (sum(n * (n - 1)) / sum(n) / %5$s)::real as n from squares group by zoom) each_zoom',
    -- Squares of zoom 14 are tiles of zoom 12, of which there are 4096 a side.
    pixel_metres(4), schema_name, table_name, 100 * share, share) into found;
  if found is null then return null; end if;
  -- At the first zooms one square has all tiles.
  return array[found[1], found[1]] || found;
end $$;
