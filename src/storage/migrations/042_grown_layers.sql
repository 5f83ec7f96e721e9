-- Lines and polygons of layers that have grown by edits get bands as those that were imported, and bands that were made before
-- there were sums of what they leave out get these.

-- Of larger layers they are made by imports only: writers wait meanwhile, some 15 s for this many objects.
create function most_generalized() returns real language sql immutable return 1e6;

create function drop_bands(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  band int;
  event text;
begin
  foreach event in array array['inserted', 'updated', 'deleted', 'truncated'] loop
    execute format('drop trigger if exists bands_%s on layers.%I', event, 'l' || id_of_layer);
  end loop;
  for band in select unnest(bands) from layer where id = id_of_layer loop
    execute format('drop table if exists layers.%I', 'l' || id_of_layer || '_z' || band);
    execute format('drop table if exists layers.%I', 'l' || id_of_layer || '_g' || band);
  end loop;
  update layer set bands = '{}', gathered = null where id = id_of_layer;
end $$;

-- Of layers that have bands already it is found again which are much lighter: of more objects, more share a pixel.
create function generalize_grown(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
  own record;
  light int[];
begin
  select bands, gathered, cardinality(bands) > 0 as has_bands into own from layer where id = id_of_layer;
  if not found then return; end if;
  if own.has_bands and own.gathered is not null then
    light := light_bands('layers', layer_table, own.bands);
    update layer set gathered = light where id = id_of_layer and bands = own.bands and gathered is distinct from light;
    return;
  end if;
  if (select reltuples from pg_class where oid = to_regclass(format('layers.%I', layer_table))) > most_generalized() then return; end if;
  execute format('lock table layers.%I in share row exclusive mode', layer_table);
  if own.has_bands then perform drop_bands(id_of_layer); end if;
  perform generalize_layer(id_of_layer);
end $$;

create or replace function outgrown_layers() returns setof bigint language sql stable set search_path from current as $$
  select l.id from layer l join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
  where c.reltuples >= 20000 and (l.crowds_rows is null or not l.crowds_rows between c.reltuples / 2 and 2 * c.reltuples)
    or c.reltuples < 20000 and l.crowds is not null
    or cardinality(l.bands) > 0 and l.gathered is null and c.reltuples <= most_generalized()
$$;
