-- Notes a sample for each new combination of rules that objects of the table match.
create or replace function sample_classes(schema_name text, table_name text, spec thinning, ids bigint[]) returns void
language plpgsql set search_path from current as $$
begin
  if spec.columns = '{}' then return; end if;
  execute format('insert into thinned_class (layer_id, number, bits, sample)
      select distinct on (bits) $1, $2, bits, sample from (
        select (%s) as bits, jsonb_build_object(%s) as sample from %I.%I o$
        where ($3 is null or o$.svc_id = any($3)) and st_geometrytype(o$.geom_3857) = ''ST_Point'') seen
      where not exists (select from thinned_class k where k.layer_id = $1 and k.number = $2 and k.bits = seen.bits)
      order by bits
    on conflict do nothing', spec.bits,
      (select string_agg(format('%L, o$.%I', name, name), ', ') from unnest(spec.columns) name), schema_name, table_name)
    using spec.layer_id, spec.number, ids;
end $$;
