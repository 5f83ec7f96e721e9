-- Who makes lighter geometry takes rows and tables in the order of all other writers (the lock of imports, the map's row, then
-- tables, then the layer's row), and copies nothing that turns out to be no lighter.

-- As before, but a band is made only if it will be lighter, by what is estimated of each second zoom: where rules draw most of
-- the points in any case, no copy of them is.
create or replace function make_thinning(schema_name text, table_name text, spec thinning) returns int[]
language plpgsql set search_path from current as $$
declare
  finest int := least(12, cardinality(spec.kinds) - 1);
  made int[] := '{}';
  rows_before bigint;
  rows_now bigint;
  -- Rows that the bands of the zooms 0, 2, 4 ... would have. Those of the zooms between have no fewer than the one before.
  estimates bigint[];
  zoom int;
  finer int;
  band_table text;
begin
  execute format('select count(*) from %I.%I where geom_3857 is not null', schema_name, table_name) into rows_before;
  if rows_before < 20000 then return made; end if;
  perform set_config('work_mem', '128MB', true);
  -- By the rows whose hash is one of a few.
  execute format('select array_agg(rows order by zoom) from (
      select zoom, count(*) * %1$s as rows from (
        select distinct zoom, key from (
          select unnest(array[%2$s]) as zoom, unnest(array[%3$s]) as key from (%4$s) p) keys
        where key & 1023 < 1024 / %1$s) few
      group by zoom) found',
    greatest(1, least(1024, 2 ^ floor(log(2, rows_before / 20000.0)))::int),
    (select string_agg(z::text, ', ' order by z) from generate_series(0, finest, 2) z),
    (select string_agg(format('case when bits & %s <> 0 then hashint8extended(svc_id, 1) else hashint8extended(
        ((x >> %s)::bigint << 32) | ((y >> %2$s)::bigint & 4294967295), bits & %3$s) end',
        keep_mask(spec, z), finest - z, spec.kinds[z + 1]), ', ' order by z) from generate_series(0, finest, 2) z),
    points_sql(schema_name, table_name, spec, finest)) into estimates;
  for zoom in reverse finest .. 0 loop
    continue when estimates[zoom / 2 + 1] > 0.6 * rows_before;
    band_table := format('%I.%I', schema_name, format('%s_p%s_z%s', table_name, spec.number, zoom));
    execute format('create table %s as %s', band_table, thinned_sql(case when finer is null
      then points_sql(schema_name, table_name, spec, zoom)
      else coarser_sql(format('%I.%I', schema_name, format('%s_p%s_z%s', table_name, spec.number, finer)), finer - zoom) end, spec, zoom));
    get diagnostics rows_now = row_count;
    if rows_now > 0.6 * rows_before then
      execute format('drop table %s', band_table);
      continue;
    end if;
    execute format('alter table %s add primary key (x, y, class)', band_table);
    execute format('create index on %s using gist (geom)', band_table);
    if finer is null then execute format('create index on %s (svc_id)', band_table); end if;
    execute format('analyze %s', band_table);
    rows_before := rows_now;
    finer := zoom;
    made := zoom || made;
  end loop;
  if cardinality(made) > 0 then perform sample_classes(schema_name, table_name, spec, null); end if;
  return made;
end $$;

create function lock_map_of(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
begin
  perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
end $$;

-- As before, but the map's row is taken first.
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
    'building', true, 'number', (select coalesce(max(number), 0) + 1 from thinning where layer_id = id_of_layer)));
  insert into thinning select spec.*;
  return spec.number;
end $$;

-- As before, but the map's row is taken first.
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

-- As before, but the rows of the maps are taken first. What is held of one map is dropped another time: it is in no other's way.
create or replace function sweep_thinnings() returns void language plpgsql set search_path from current as $$
declare
  left_over text;
  free bigint[];
begin
  select array_agg(id) into free from (
    select id from map where id in (
        select n.map_id from thinning t join node n on n.id = t.layer_id
        where t.building or t.retired_at < now() - interval '1 minute')
      order by id for no key update skip locked) found;
  perform drop_thinning(t.layer_id, t.number) from thinning t left join node n on n.id = t.layer_id
    where (n.id is null or n.map_id = any(free)) and (t.building or t.retired_at < now() - interval '1 minute');
  for left_over in
    select c.relname from pg_class c
    where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+_p[0-9]+_z[0-9]+$'
      and not exists (select from thinning t where c.relname ~ format('^l%s_p%s_', t.layer_id, t.number)
        and substring(c.relname from '[0-9]+$')::int = any(t.bands))
  loop
    execute format('drop table layers.%I', left_over);
  end loop;
end $$;

-- As before, without the layer's row.
create or replace function drop_bands(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
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
end $$;

-- As before, but rows of the catalogue are taken last, the map's first, so that nobody waits for them while bands are made. Who
-- takes the map's row and then the table waits for the lock of imports before; a layer that is imported or restructured is
-- looked at again later.
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
