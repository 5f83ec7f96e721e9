-- Thins a layer's points when there are enough of them. Readers are not held up; writers wait. Several processes of the database
-- may work at it.
create or replace function thin_points(id_of_layer bigint) returns void language plpgsql set search_path from current set max_parallel_workers_per_gather = 2 as $$
declare
  name text := 'l' || id_of_layer;
  spec thinning;
begin
  if exists (select from thinning where layer_id = id_of_layer) or not holds_points('layers', name) then return; end if;
  execute format('lock table layers.%I in share row exclusive mode', name);
  spec := plain_thinning(id_of_layer);
  spec.bands := make_thinning('layers', name, spec);
  if cardinality(spec.bands) = 0 then return; end if;
  insert into thinning select spec.*;
  perform attach_thinning(id_of_layer);
end $$;
