-- SQL of the rows of a finer band as those of the pixels of a coarser one.
create or replace function coarser_sql(band_table text, steps int) returns text language sql immutable as $$
  select format('select x >> %1$s as x, y >> %1$s as y, bits, svc_id, geom from %2$s', steps, band_table)
$$;
