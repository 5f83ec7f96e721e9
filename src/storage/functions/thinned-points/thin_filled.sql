-- Makes the thinnings that a layer has beside a table of the schema staging that is to take the place of its table.
create or replace function thin_filled(id_of_layer bigint, filled text) returns jsonb language plpgsql set search_path from current as $$
declare
  spec thinning;
  made jsonb := '[]';
begin
  if not holds_points('staging', filled) then return made; end if;
  for spec in
    select * from thinning t where layer_id = id_of_layer and retired_at is null and not building
      -- It goes with a column that gets another type, which its expressions do not fit.
      and not exists (select from pg_attribute was join pg_attribute will using (attname)
        where was.attrelid = to_regclass('layers.l' || id_of_layer) and will.attrelid = to_regclass(format('staging.%I', filled))
          and attname = any(t.columns) and was.atttypid <> will.atttypid)
    union all select (plain_thinning(id_of_layer)).*
      where not exists (select from thinning where layer_id = id_of_layer and retired_at is null and not building)
  loop
    spec.bands := make_thinning('staging', filled, spec);
    made := made || to_jsonb(spec);
  end loop;
  return made;
end $$;
