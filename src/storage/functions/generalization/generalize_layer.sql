-- Gives a layer its bands, and thins its points, when it is large enough to gain from them. Readers are not held up; writers
-- wait.
create or replace function generalize_layer(id_of_layer bigint) returns int[] language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
  present int[] := (select bands from layer where id = id_of_layer);
  made int[];
begin
  perform thin_points(id_of_layer);
  if cardinality(present) > 0 then return present; end if; -- kept up by triggers since they were made
  execute format('lock table layers.%I in share row exclusive mode', layer_table);
  made := make_bands('layers', layer_table);
  if cardinality(made) = 0 then return present; end if;
  update layer set bands = made, gathered = light_bands('layers', layer_table, made) where id = id_of_layer;
  perform attach_bands(id_of_layer);
  return made;
end $$;
