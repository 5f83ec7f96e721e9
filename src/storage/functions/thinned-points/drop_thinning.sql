-- Drops the tables of a thinning; null = of all that the layer has.
create or replace function drop_thinning(id_of_layer bigint, which int) returns void language plpgsql set search_path from current as $$
declare
  band_table text;
begin
  for band_table in
    select format('l%s_p%s_z%s', layer_id, number, band) from thinning, unnest(bands) band
    where layer_id = id_of_layer and (which is null or number = which)
  loop
    execute format('drop table if exists layers.%I', band_table);
  end loop;
  delete from thinning where layer_id = id_of_layer and (which is null or number = which);
  delete from thinned_class where layer_id = id_of_layer and (which is null or number = which);
  delete from thinning_pending where layer_id = id_of_layer and (which is null or number = which);
end $$;
