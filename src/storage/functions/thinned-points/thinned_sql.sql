-- SQL of the rows of a band, from rows x, y, bits, svc_id, geom of pixels of its zoom.
create or replace function thinned_sql(points text, spec thinning, zoom int) returns text
language sql stable set search_path from current as $$
  select format('select distinct on (x, y, class) x, y, class, bits, svc_id, geom from (
      select p.*, case when bits & %s <> 0 then -1 - svc_id else bits & %s end as class from (%s) p) classed
    order by x, y, class, svc_id desc', keep_mask(spec, zoom), spec.kinds[zoom + 1], points)
$$;
