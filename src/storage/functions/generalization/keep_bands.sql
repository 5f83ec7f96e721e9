-- Trigger of a layer's table: keeps its bands up, from the finest on, and the sums of what they leave out. Layers whose bands
-- were made before there were sums have none.
create or replace function keep_bands() returns trigger language plpgsql as $$
declare
  id_of_layer bigint := tg_argv[0]::bigint;
  layer_table text := 'l' || id_of_layer;
  own record;
  band int;
  band_table text;
  source text := 'select svc_id, geom_3857 as g from new_rows where geom_3857 is not null';
begin
  select array(select b from unnest(bands) b order by b desc) as bands, gathered is not null as gathered into own from mapwright.layer where id = id_of_layer;
  foreach band in array coalesce(own.bands, array[]::int[]) loop
    band_table := format('layers.%I', layer_table || '_z' || band);
    if tg_op = 'TRUNCATE' then
      execute format('truncate %s', band_table);
      if own.gathered then
        execute format('truncate layers.%I', layer_table || '_g' || band);
        delete from mapwright.gather_touch where transaction_id = pg_current_xact_id() and layer_id = id_of_layer;
      end if;
      continue;
    end if;
    if tg_op in ('UPDATE', 'DELETE') then
      if own.gathered then
        execute format('insert into mapwright.gather_touch (layer_id, band, sums)
          select $1, $2, row(dimension, x, y, n, size, sx, sy, ids)::mapwright.gathered from (%s) s',
          mapwright.gathered_sql('select svc_id, geom_3857 from old_rows', band_table, band, -1)) using id_of_layer, band;
      end if;
      execute format('delete from %s b using old_rows o where b.svc_id = o.svc_id', band_table);
    end if;
    if tg_op in ('UPDATE', 'INSERT') then
      execute format('insert into %s select svc_id, g from (
          select svc_id, mapwright.generalized(g, mapwright.pixel_metres(%s)) g from (%s) s offset 0) n
        where g is not null', band_table, band, source);
      source := format('select n.svc_id, b.geom as g from new_rows n join %s b on b.svc_id = n.svc_id', band_table);
      if own.gathered then
        execute format('insert into mapwright.gather_touch (layer_id, band, sums)
          select $1, $2, row(dimension, x, y, n, size, sx, sy, ids)::mapwright.gathered from (%s) s',
          mapwright.gathered_sql('select svc_id, geom_3857 from new_rows', band_table, band, 1)) using id_of_layer, band;
      end if;
    end if;
  end loop;
  return null;
end $$;
