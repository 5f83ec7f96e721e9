-- Puts the tables to use. Those for other rules, but the plain ones, are no longer used. The map's row is taken first, as in
-- begin_thinning().
create or replace function finish_thinning(id_of_layer bigint, which int, made int[]) returns void
language plpgsql set search_path from current as $$
declare
  spec thinning;
begin
  perform lock_map_of(id_of_layer);
  execute format('lock table layers.%I in share row exclusive mode', 'l' || id_of_layer);
  -- Gone: the layer's table was replaced meanwhile.
  select * into spec from thinning where layer_id = id_of_layer and number = which and building;
  if not found then return; end if;
  spec.bands := made;
  if cardinality(made) > 0 then
    perform follow_edits(spec, case when every(ids is not null) then coalesce(
        (select array_agg(distinct id) from thinning_pending p, unnest(p.ids) id where p.layer_id = id_of_layer and p.number = which), '{}') end)
      from thinning_pending where layer_id = id_of_layer and number = which having count(*) > 0;
  end if;
  delete from thinning_pending where layer_id = id_of_layer and number = which;
  update thinning set bands = made, building = false where layer_id = id_of_layer and number = which;
  update thinning set retired_at = now()
    where layer_id = id_of_layer and number <> which and digest <> 'plain' and retired_at is null;
end $$;
