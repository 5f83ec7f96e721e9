-- SQL of what a statement adds to the sums of a band, or with the sign -1 takes away.
create or replace function gathered_sql(objects text, band_table text, zoom int, sign int) returns text language sql immutable as $$
  select format('select dimension, x, y, %2$s * count(*) as n, (%2$s * sum(size))::bigint as size,
      (%2$s * sum(fx))::bigint as sx, (%2$s * sum(fy))::bigint as sy, array_agg(svc_id) as ids
    from (%1$s) s group by 1, 2, 3', mapwright.small_sql(objects, band_table, zoom), sign)
$$;
