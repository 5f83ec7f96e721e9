-- A thinning that is of use to every style without rules about columns.
create or replace function plain_thinning(id_of_layer bigint) returns thinning language sql stable set search_path from current as $$
  select row(id_of_layer, 1, 'plain', '0::bigint', '{}'::text[], array_fill(0::bigint, array[13]),
    array_fill(0::bigint, array[13]), '{}'::int[], false, null)::thinning
$$;
