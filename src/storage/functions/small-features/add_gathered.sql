-- Adds what a transaction has changed in a band to its table. The caller holds the layer's row.
create or replace function add_gathered(id_of_layer bigint, band int, changes gathered[]) returns void language plpgsql
set search_path from current as $$
declare
  sums text := format('layers.l%s_g%s', id_of_layer, band);
  band_table text := format('layers.l%s_z%s', id_of_layer, band);
begin
  execute format('insert into %s as t (dimension, x, y, n, size, sx, sy, places)
    select dimension, x, y, sum(n), sum(size), sum(sx), sum(sy), ''{}'' from unnest($1) group by 1, 2, 3
    on conflict (dimension, x, y) do update
      set n = t.n + excluded.n, size = t.size + excluded.size, sx = t.sx + excluded.sx, sy = t.sy + excluded.sy', sums)
    using changes;
  -- Places of what was changed are no longer those; some of it has new ones.
  execute format('with changed as (
      select dimension, x, y, array_agg(id) as ids from unnest($1) c, unnest(c.ids) id group by 1, 2, 3
    )
    update %1$s t set places = (
      select coalesce((array_agg(place))[:places_kept()], ''{}'') from (
        select place from unnest(t.places) place where place >> 16 <> all(c.ids)
        union all
        select place from (%2$s) fresh where (fresh.dimension, fresh.x, fresh.y) = (t.dimension, t.x, t.y)) places)
    from changed c where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y)', sums,
    small_sql(format('select svc_id, geom_3857 from layers.l%s where svc_id = any(c.ids[:50])', id_of_layer), band_table, band))
    using changes;
  -- Where places are missing, others of the pixel have them.
  execute format('update %1$s t set places = (
      select (array_agg(distinct place))[:places_kept()] from (
        select place from unnest(t.places) place
        union all
        select * from (select place from (%2$s) others
          where (others.dimension, others.x, others.y) = (t.dimension, t.x, t.y) limit 2 * places_kept()) some_others) places)
    from (select distinct dimension, x, y from unnest($1)) c
    where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y) and cardinality(t.places) < least(t.n, places_kept())', sums,
    small_sql(format('select svc_id, geom_3857 from layers.l%s where geom_3857 && st_makeenvelope(
      t.x * %2$s, t.y * %2$s, (t.x + 1) * %2$s, (t.y + 1) * %2$s, 3857)', id_of_layer, pixel_metres(band)), band_table, band))
    using changes;
  execute format('delete from %s t using unnest($1) c
    where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y) and t.n = 0', sums) using changes;
end $$;
