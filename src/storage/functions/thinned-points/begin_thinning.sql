-- A thinning for other rules is made while the layer is edited, in three transactions: begin_thinning(), make_thinning() and
-- finish_thinning(). Writers wait for the first and the last. The map's row is taken first, then the table: the order of all
-- other writers.
--
-- Returns the number of the new thinning; null = the layer is thinned so already.
create or replace function begin_thinning(id_of_layer bigint, wanted jsonb) returns int language plpgsql set search_path from current as $$
declare
  spec thinning;
begin
  perform lock_map_of(id_of_layer);
  execute format('lock table layers.%I in share row exclusive mode', 'l' || id_of_layer);
  if exists (select from thinning where layer_id = id_of_layer and digest = wanted ->> 'digest' and retired_at is null) then
    return null;
  end if;
  perform attach_thinning(id_of_layer);
  spec := jsonb_populate_record(null::thinning, wanted || jsonb_build_object('layer_id', id_of_layer, 'bands', '{}'::int[],
    -- Never one that there was: whoever makes the tables of one that was dropped meanwhile must not write into those of the next.
    'building', true, 'number', nextval('thinning_number')));
  insert into thinning select spec.*;
  return spec.number;
end $$;
