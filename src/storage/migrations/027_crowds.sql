-- How crowded a layer is, so that fewer tiles are drawn at once where there is much to draw.

-- For each zoom from 0 to 14, how many other objects an object has in its square of 4 x 4 tiles, on average. From a sample;
-- null = the layer is small, or nobody has looked yet.
alter table layer add column crowds real[];
-- Rows that the layer had when it was looked at.
alter table layer add column crowds_rows real;
create trigger layer_crowds_changed after update of crowds on layer
  for each row when (old.crowds is distinct from new.crowds) execute function layer_changed();

-- Those of a table that has been analyzed. Its pages are sampled, so that it takes the same time for any size.
create function crowds_of(schema_name text, table_name text) returns real[] language plpgsql set search_path from current as $$
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

create function note_crowds(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  found_crowds real[] := crowds_of('layers', 'l' || id_of_layer);
  rows_now real := (select reltuples from pg_class where oid = to_regclass('layers.l' || id_of_layer));
begin
  if exists (select from layer where id = id_of_layer and crowds is distinct from found_crowds) then
    -- The map's row is taken before those of its layers, here as elsewhere.
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set crowds = found_crowds where id = id_of_layer;
  end if;
  update layer set crowds_rows = rows_now where id = id_of_layer;
end $$;

-- Layers that have become much larger or smaller since somebody looked.
create function outgrown_layers() returns setof bigint language sql stable set search_path from current as $$
  select l.id from layer l join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
  where c.reltuples >= 20000 and (l.crowds_rows is null or not l.crowds_rows between c.reltuples / 2 and 2 * c.reltuples)
    or c.reltuples < 20000 and l.crowds is not null
$$;
