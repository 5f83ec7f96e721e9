-- Brings a thinning up to what objects are now, whichever way is cheaper; null = all objects. As refresh_thinning.
create or replace function follow_edits(spec thinning, ids bigint[]) returns void language plpgsql set search_path from current as $$
declare
  rows_of_finest real := (select reltuples from pg_class where oid = to_regclass(
    format('layers.l%s_p%s_z%s', spec.layer_id, spec.number, (select max(band) from unnest(spec.bands) band))));
begin
  if ids is null or cardinality(ids) > greatest(1000, rows_of_finest / 5) then
    perform rebuild_thinning(spec);
  else
    perform refresh_thinning(spec, ids);
  end if;
end $$;
