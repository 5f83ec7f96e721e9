-- Brings the bands of a thinning up to what the objects with these ids are now. The caller holds the layer's row, so that
-- one transaction at a time does it, and sees what those before it have done.
create or replace function refresh_thinning(spec thinning, ids bigint[]) returns void language plpgsql set search_path from current as $$
declare
  name text := format('l%s', spec.layer_id);
  zooms int[] := (select array_agg(band order by band desc) from unnest(spec.bands) band);
  zoom int := zooms[1];
  band_table text := format('layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
  finer_table text;
  steps int;
  keep bigint := keep_mask(spec, zoom);
  kind bigint := spec.kinds[zoom + 1];
  changes point_change[];
  more point_change[];
  upsert constant text := 'on conflict (x, y, class) do update
    set bits = excluded.bits, svc_id = excluded.svc_id, geom = excluded.geom where ';
begin
  -- The finest band, from the objects.
  execute format('with gone as (delete from %s where svc_id = any($1) returning x, y, bits, svc_id)
    select array_agg(row(x, y, bits, svc_id, true)::point_change) from gone', band_table) into changes using ids;
  execute format('with put as (insert into %s as t %s %s excluded.svc_id > t.svc_id returning x, y, bits, svc_id)
    select array_agg(row(x, y, bits, svc_id, false)::point_change) from put',
    band_table, thinned_sql(points_sql('layers', name, spec, zoom, 'o$.svc_id = any($1)'), spec, zoom), upsert) into more using ids;
  if changes is not null then
    changes := changes || more;
    -- Of a pixel with more than a thousand such points, which all lie in one place, any one will do.
    execute format('with pixel as (
        select distinct x, y, bits & %1$s as class from unnest($1) where gone and bits & %2$s = 0
      ), put as (
        insert into %3$s as t (x, y, class, bits, svc_id, geom)
        select pixel.x, pixel.y, pixel.class, found.bits, found.svc_id, found.geom
        from pixel cross join lateral (
          select * from (
            select p.bits, p.svc_id, p.geom from (%4$s) p
            where p.x = pixel.x and p.y = pixel.y and p.bits & %2$s = 0 and p.bits & %1$s = pixel.class limit 1000) some_points
          order by svc_id desc limit 1) found
        %5$s excluded.svc_id > t.svc_id returning x, y, bits, svc_id)
      select array_agg(row(x, y, bits, svc_id, false)::point_change) from put',
      kind, keep, band_table, points_sql('layers', name, spec, zoom, format(
        'o$.geom_3857 && st_makeenvelope(pixel.x * %1$s, pixel.y * %1$s, (pixel.x + 1) * %1$s, (pixel.y + 1) * %1$s, 3857)',
        pixel_metres(zoom))), upsert) into more using changes;
  end if;
  changes := changes || more;
  if more is not null then perform sample_classes('layers', name, spec, array(select svc_id from unnest(changes))); end if;
  -- The others, each from the next finer one.
  foreach zoom in array zooms[2:] loop
    exit when changes is null;
    finer_table := band_table;
    band_table := format('layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
    steps := zooms[array_position(zooms, zoom) - 1] - zoom;
    keep := keep_mask(spec, zoom);
    kind := spec.kinds[zoom + 1];
    if exists (select from unnest(changes) where bits & keep <> 0) then
      execute format('delete from %s t using unnest($1) c
        where c.gone and c.bits & %s <> 0 and t.x = c.x >> %3$s and t.y = c.y >> %3$s and t.class = -1 - c.svc_id',
        band_table, keep, steps) using changes;
      execute format('insert into %s select distinct on (f.svc_id) f.x >> %2$s, f.y >> %2$s, -1 - f.svc_id, f.bits, f.svc_id, f.geom
        from unnest($1) c join %3$s f on f.x = c.x and f.y = c.y and f.class = -1 - c.svc_id where f.bits & %4$s <> 0
        %5$s true', band_table, steps, finer_table, keep, upsert) using changes;
    end if;
    execute format('with pixel as (
        select distinct x >> %1$s as x, y >> %1$s as y, bits & %2$s as class from unnest($1) where bits & %3$s = 0
      ), found as materialized (
        select pixel.*, f.bits, f.svc_id, f.geom from pixel left join lateral (
          select f.bits, f.svc_id, f.geom from %4$s f
          where f.x = any(array(select generate_series(pixel.x << %1$s, (pixel.x << %1$s) + %5$s)))
            and f.y between pixel.y << %1$s and (pixel.y << %1$s) + %5$s
            and f.bits & %3$s = 0 and f.bits & %2$s = pixel.class
          order by f.svc_id desc limit 1) f on true
      ), lost as (
        delete from %6$s t using found n where n.svc_id is null and t.x = n.x and t.y = n.y and t.class = n.class
        returning t.x, t.y, t.bits, t.svc_id
      ), put as (
        insert into %6$s as t (x, y, class, bits, svc_id, geom)
        select x, y, class, bits, svc_id, geom from found where svc_id is not null
        %7$s t.svc_id <> excluded.svc_id or excluded.svc_id = any($2) returning x, y, bits, svc_id)
      select array_agg(row(x, y, bits, svc_id, gone)::point_change) from (
        select *, true as gone from lost union all select *, false from put
        union all select x >> %1$s, y >> %1$s, bits, svc_id, gone from unnest($1) where bits & %3$s <> 0) now_changed',
      steps, kind, keep, finer_table, (1 << steps) - 1, band_table, upsert) into changes using changes, ids;
  end loop;
end $$;
