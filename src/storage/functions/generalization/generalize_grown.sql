-- Lines and polygons of layers that have grown by edits get bands as those that were imported, and bands that were made before
-- there were sums of what they leave out get these. Of layers that have bands already it is found again which are much lighter:
-- of more objects, more share a pixel.
--
-- Rows of the catalogue are taken last, the map's first, so that nobody waits for them while bands are made. Who takes the map's
-- row and then the table waits for the lock of imports before; a layer that is imported or restructured is looked at again later.
create or replace function generalize_grown(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
  own record;
  made int[];
  light int[];
begin
  select bands, gathered, cardinality(bands) > 0 as has_bands into own from layer where id = id_of_layer;
  if not found then return; end if;
  if own.has_bands and own.gathered is not null then
    light := light_bands('layers', layer_table, own.bands);
    if light is distinct from own.gathered then
      perform lock_map_of(id_of_layer);
      update layer set gathered = light where id = id_of_layer and bands = own.bands;
    end if;
    return;
  end if;
  if (select reltuples from pg_class where oid = to_regclass(format('layers.%I', layer_table))) > most_generalized() then return; end if;
  if not pg_try_advisory_xact_lock(hashtextextended('mapwright import ' || id_of_layer, 0)) then return; end if;
  -- Dropping triggers takes the stronger one: at once, since whoever has read would wait for this, and this for them.
  execute format('lock table layers.%I in %s mode', layer_table,
    case when own.has_bands then 'access exclusive' else 'share row exclusive' end);
  -- An import may have made them meanwhile.
  if not exists (select from layer where id = id_of_layer and bands = own.bands and gathered is null) then return; end if;
  if own.has_bands then perform drop_bands(id_of_layer); end if;
  made := make_bands('layers', layer_table);
  if own.has_bands or cardinality(made) > 0 then
    if cardinality(made) > 0 then light := light_bands('layers', layer_table, made); end if;
    perform lock_map_of(id_of_layer);
    update layer set bands = made, gathered = light where id = id_of_layer;
  end if;
  if cardinality(made) > 0 then perform attach_bands(id_of_layer); end if;
  perform thin_points(id_of_layer);
end $$;
