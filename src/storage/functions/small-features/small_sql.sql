-- SQL of those of the rows svc_id, geom_3857 that a band does not have: svc_id, dimension, x, y, size, fx, fy and their
-- place, which is the id with fx and fy in its last 16 bits.
create or replace function small_sql(objects text, band_table text, zoom int) returns text language sql immutable as $$
  select format('select *, (svc_id << 16) | (fx << 8) | fy as place from (
      select svc_id, dimension, floor(cx)::int as x, floor(cy)::int as y, size,
        floor((cx - floor(cx)) * 256)::bigint as fx, floor((cy - floor(cy)) * 256)::bigint as fy
      from (
        select svc_id, st_dimension(g) as dimension,
          (st_xmin(g) + st_xmax(g)) / 2 / %3$s as cx, (st_ymin(g) + st_ymax(g)) / 2 / %3$s as cy,
          round(case st_dimension(g) when 2 then st_area(g) / %3$s / %3$s else st_length(g) / %3$s end * 68719476736.0) as size
        from (select svc_id, geom_3857 as g from (%1$s) o
          where geom_3857 is not null and st_dimension(geom_3857) > 0
            and not exists (select from %2$s b where b.svc_id = o.svc_id)) small offset 0
      ) measured offset 0
    ) placed', objects, band_table, mapwright.pixel_metres(zoom))
$$;
