-- Makes the thinnings that a layer has beside a table of the schema staging that is to take the place of its table.
create or replace function thin_filled(id_of_layer bigint, filled text) returns jsonb language plpgsql set search_path from current as $$
declare
  spec thinning;
  made jsonb := '[]';
begin
  if not holds_points('staging', filled) then return made; end if;
  for spec in
    select * from thinning where layer_id = id_of_layer and retired_at is null and not building
    union all select (plain_thinning(id_of_layer)).*
      where not exists (select from thinning where layer_id = id_of_layer and retired_at is null and not building)
  loop
    spec.bands := make_thinning('staging', filled, spec);
    made := made || to_jsonb(spec);
  end loop;
  return made;
end $$;
