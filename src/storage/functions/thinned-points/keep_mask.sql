-- Bits of rules under which each point is drawn.
create or replace function keep_mask(spec thinning, zoom int) returns bigint language sql immutable as $$
  select spec.keeps[zoom + 1] | (1::bigint << 62)
$$;
