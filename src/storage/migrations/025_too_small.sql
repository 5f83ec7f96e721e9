-- What the bands of lines and polygons leave out as too small leaves its area behind: the tables layers.l<id>_g<band> tell
-- for each pixel how many such objects there are, how large they are together, and where some of them are. The sums are
-- whole numbers, so that what is added and taken away again leaves nothing.

-- Bands that are much lighter than the objects also with what is drawn under strokes: a square for each known place of a
-- small object. Styles with strokes are served by those only. null = there are no tables of small objects.
alter table layer add column gathered int[];
drop trigger layer_changed on layer;
create trigger layer_changed after update of geometry_kind, bands, gathered, crosses_antimeridian on layer
  for each row execute function layer_changed();

-- dimension: 1 = lines, 2 = polygons; x, y: pixel of the middle of the object's box; size: length in 2^-36 pixels, or area in
-- 2^-36 square pixels; sx, sy: sums of where in the pixel those middles are, in 1/256; ids: of the objects.
create type gathered as (dimension int, x int, y int, n bigint, size bigint, sx bigint, sy bigint, ids bigint[]);

-- What a transaction has added or taken away. As layer_touch, it is empty to everyone else.
create unlogged table gather_touch (
  transaction_id xid8 not null default pg_current_xact_id(),
  layer_id bigint not null,
  band int not null,
  sums gathered not null
);
create index gather_touch_transaction on gather_touch (transaction_id);

-- Of so many objects in each pixel it is known where they are: under strokes of a pixel's width, more would not be seen.
create function places_kept() returns int language sql immutable parallel safe return 8;

-- SQL of those of the rows svc_id, geom_3857 that a band does not have: svc_id, dimension, x, y, size, fx, fy and their
-- place, which is the id with fx and fy in its last 16 bits.
create function small_sql(objects text, band_table text, zoom int) returns text language sql immutable as $$
  select format('select *, (svc_id << 16) | (fx << 8) | fy as place from (
      select svc_id, dimension, floor(cx)::int as x, floor(cy)::int as y, size,
        floor((cx - floor(cx)) * 256)::bigint as fx, floor((cy - floor(cy)) * 256)::bigint as fy
      from (
        select svc_id, st_dimension(g) as dimension,
          (st_xmin(g) + st_xmax(g)) / 2 / %3$s as cx, (st_ymin(g) + st_ymax(g)) / 2 / %3$s as cy,
          round(case st_dimension(g) when 2 then st_area(g) / %3$s / %3$s else st_length(g) / %3$s end * 68719476736.0) as size
        from (select svc_id, geom_3857 as g from (%1$s) o
          where geom_3857 is not null and st_dimension(geom_3857) > 0
            and not exists (select from %2$s b where b.svc_id = o.svc_id)) small offset 0
      ) measured offset 0
    ) placed', objects, band_table, mapwright.pixel_metres(zoom))
$$;

-- SQL of what a statement adds to the sums of a band, or with the sign -1 takes away.
create function gathered_sql(objects text, band_table text, zoom int, sign int) returns text language sql immutable as $$
  select format('select dimension, x, y, %2$s * count(*) as n, (%2$s * sum(size))::bigint as size,
      (%2$s * sum(fx))::bigint as sx, (%2$s * sum(fy))::bigint as sy, array_agg(svc_id) as ids
    from (%1$s) s group by 1, 2, 3', mapwright.small_sql(objects, band_table, zoom), sign)
$$;

-- Adds what a transaction has changed in a band to its table. The caller holds the layer's row.
create function add_gathered(id_of_layer bigint, band int, changes gathered[]) returns void language plpgsql
set search_path from current as $$
declare
  sums text := format('layers.l%s_g%s', id_of_layer, band);
  band_table text := format('layers.l%s_z%s', id_of_layer, band);
begin
  execute format('insert into %s as t (dimension, x, y, n, size, sx, sy, places)
    select dimension, x, y, sum(n), sum(size), sum(sx), sum(sy), ''{}'' from unnest($1) group by 1, 2, 3
    on conflict (dimension, x, y) do update
      set n = t.n + excluded.n, size = t.size + excluded.size, sx = t.sx + excluded.sx, sy = t.sy + excluded.sy', sums)
    using changes;
  -- Places of what was changed are no longer those; some of it has new ones.
  execute format('with changed as (
      select dimension, x, y, array_agg(id) as ids from unnest($1) c, unnest(c.ids) id group by 1, 2, 3
    )
    update %1$s t set places = (
      select coalesce((array_agg(place))[:places_kept()], ''{}'') from (
        select place from unnest(t.places) place where place >> 16 <> all(c.ids)
        union all
        select place from (%2$s) fresh where (fresh.dimension, fresh.x, fresh.y) = (t.dimension, t.x, t.y)) places)
    from changed c where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y)', sums,
    small_sql(format('select svc_id, geom_3857 from layers.l%s where svc_id = any(c.ids[:50])', id_of_layer), band_table, band))
    using changes;
  -- Where places are missing, others of the pixel have them.
  execute format('update %1$s t set places = (
      select (array_agg(distinct place))[:places_kept()] from (
        select place from unnest(t.places) place
        union all
        select * from (select place from (%2$s) others
          where (others.dimension, others.x, others.y) = (t.dimension, t.x, t.y) limit 2 * places_kept()) some_others) places)
    from (select distinct dimension, x, y from unnest($1)) c
    where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y) and cardinality(t.places) < least(t.n, places_kept())', sums,
    small_sql(format('select svc_id, geom_3857 from layers.l%s where geom_3857 && st_makeenvelope(
      t.x * %2$s, t.y * %2$s, (t.x + 1) * %2$s, (t.y + 1) * %2$s, 3857)', id_of_layer, pixel_metres(band)), band_table, band))
    using changes;
  execute format('delete from %s t using unnest($1) c
    where (t.dimension, t.x, t.y) = (c.dimension, c.x, c.y) and t.n = 0', sums) using changes;
end $$;

create function gathers_touched() returns trigger language plpgsql set search_path from current as $$
declare
  touched record;
begin
  for touched in
    with mine as (
      delete from gather_touch where transaction_id = pg_current_xact_id() returning layer_id, band, sums
    )
    select layer_id, band, array_agg(sums) as changes from mine group by 1, 2 order by 1, 2
  loop
    perform from layer where id = touched.layer_id for no key update;
    if found and to_regclass(format('layers.l%s_g%s', touched.layer_id, touched.band)) is not null then
      perform add_gathered(touched.layer_id, touched.band, touched.changes);
    end if;
  end loop;
  return null;
end $$;
create constraint trigger gathers_touched after insert on gather_touch
  deferrable initially deferred for each row execute function gathers_touched();

-- As before, for more bands, and each made from the next finer one, by several processes where there are some.
create or replace function make_bands(schema_name text, table_name text) returns int[] language plpgsql set search_path from current as $$
declare
  made int[] := '{}';
  band int;
  finer bigint;
  kept bigint;
  band_table text;
  source text := format('select svc_id, geom_3857 as g from %I.%I where geom_3857 is not null', schema_name, table_name);
begin
  execute format('select coalesce(sum(st_npoints(geom_3857)) filter (where st_dimension(geom_3857) > 0), 0) from %I.%I',
    schema_name, table_name) into finer;
  if finer < 20000 then return made; end if;
  perform set_config('work_mem', '128MB', true);
  -- From the finest band on; each is made only if it is much lighter than the next finer one.
  foreach band in array array[10, 8, 6, 4, 2, 0] loop
    band_table := format('%I.%I', schema_name, table_name || '_z' || band);
    execute format('create table %s as select svc_id, g::geometry(Geometry, 3857) as geom from (
        select svc_id, mapwright.generalized(g, mapwright.pixel_metres(%s)) g from (%s) s offset 0) n
      where g is not null order by st_envelope(g)', band_table, band, source);
    execute format('select coalesce(sum(st_npoints(geom)), 0) from %s', band_table) into kept;
    if kept > finer * 0.8 then
      execute format('drop table %s', band_table);
      continue;
    end if;
    execute format('alter table %s add primary key (svc_id), alter geom set not null', band_table);
    execute format('create index on %s using gist (geom)', band_table);
    execute format('analyze %s', band_table);
    execute format('create table %1$I.%2$I as
      select dimension, x, y, n, size, sx, sy, array(select i.place from unnest(found) i (place) order by 1 limit places_kept()) as places
      from (select dimension, x, y, count(*) as n, sum(size)::bigint as size, sum(fx)::bigint as sx, sum(fy)::bigint as sy,
          array_agg(place) as found
        from (%3$s) s group by 1, 2, 3) sums', schema_name, table_name || '_g' || band, small_sql(
      format('select svc_id, geom_3857 from %I.%I', schema_name, table_name), band_table, band));
    execute format('alter table %I.%I add primary key (dimension, x, y)', schema_name, table_name || '_g' || band);
    execute format('analyze %I.%I', schema_name, table_name || '_g' || band);
    source := format('select svc_id, geom as g from %s', band_table);
    finer := kept;
    made := band || made;
  end loop;
  return made;
end $$;

-- Those of the bands (see layer.gathered).
create function light_bands(schema_name text, table_name text, made int[]) returns int[] language plpgsql
set search_path from current as $$
declare
  found int[] := '{}';
  band int;
  vertices bigint;
  is_light boolean;
begin
  if cardinality(made) = 0 then return found; end if;
  execute format('select sum(st_npoints(geom_3857)) from %I.%I', schema_name, table_name) into vertices;
  foreach band in array made loop
    execute format('select (select coalesce(sum(st_npoints(geom)), 0) from %I.%I)
        + (select coalesce(sum(5 * cardinality(places)), 0) from %I.%I) <= 0.5 * $1',
      schema_name, table_name || '_z' || band, schema_name, table_name || '_g' || band) into is_light using vertices;
    if is_light then found := found || band; end if;
  end loop;
  return found;
end $$;

-- As before, band by band from the finest on, and keeps the sums up. Layers whose bands were made before have no sums.
create or replace function keep_bands() returns trigger language plpgsql as $$
declare
  id_of_layer bigint := tg_argv[0]::bigint;
  layer_table text := 'l' || id_of_layer;
  own record;
  band int;
  band_table text;
  source text := 'select svc_id, geom_3857 as g from new_rows where geom_3857 is not null';
begin
  select array(select b from unnest(bands) b order by b desc) as bands, gathered is not null as gathered into own from mapwright.layer where id = id_of_layer;
  foreach band in array coalesce(own.bands, array[]::int[]) loop
    band_table := format('layers.%I', layer_table || '_z' || band);
    if tg_op = 'TRUNCATE' then
      execute format('truncate %s', band_table);
      if own.gathered then
        execute format('truncate layers.%I', layer_table || '_g' || band);
        delete from mapwright.gather_touch where transaction_id = pg_current_xact_id() and layer_id = id_of_layer;
      end if;
      continue;
    end if;
    if tg_op in ('UPDATE', 'DELETE') then
      if own.gathered then
        execute format('insert into mapwright.gather_touch (layer_id, band, sums)
          select $1, $2, row(dimension, x, y, n, size, sx, sy, ids)::mapwright.gathered from (%s) s',
          mapwright.gathered_sql('select svc_id, geom_3857 from old_rows', band_table, band, -1)) using id_of_layer, band;
      end if;
      execute format('delete from %s b using old_rows o where b.svc_id = o.svc_id', band_table);
    end if;
    if tg_op in ('UPDATE', 'INSERT') then
      execute format('insert into %s select svc_id, g from (
          select svc_id, mapwright.generalized(g, mapwright.pixel_metres(%s)) g from (%s) s offset 0) n
        where g is not null', band_table, band, source);
      source := format('select n.svc_id, b.geom as g from new_rows n join %s b on b.svc_id = n.svc_id', band_table);
      if own.gathered then
        execute format('insert into mapwright.gather_touch (layer_id, band, sums)
          select $1, $2, row(dimension, x, y, n, size, sx, sy, ids)::mapwright.gathered from (%s) s',
          mapwright.gathered_sql('select svc_id, geom_3857 from new_rows', band_table, band, 1)) using id_of_layer, band;
      end if;
    end if;
  end loop;
  return null;
end $$;

-- As before.
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

-- Puts the tables of sums in the place of the layer's, whose table and bands have been replaced.
create function replace_gathered(id_of_layer bigint, filled text, made int[]) returns void
language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  band int;
begin
  foreach band in array array[0, 2, 4, 6, 8, 10] loop
    execute format('drop table if exists layers.%I', name || '_g' || band);
  end loop;
  foreach band in array made loop
    execute format('alter table staging.%I rename to %I', filled || '_g' || band, name || '_g' || band);
    execute format('alter table staging.%I set schema layers', name || '_g' || band);
    execute format('alter table layers.%I rename constraint %I to %I', name || '_g' || band,
      filled || '_g' || band || '_pkey', name || '_g' || band || '_pkey');
  end loop;
  update layer set gathered = case when cardinality(made) > 0 then light_bands('layers', name, made) end
    where id = id_of_layer;
end $$;

create or replace function drop_layer_table() returns trigger language plpgsql set search_path from current as $$
declare
  band int;
begin
  execute format('drop view if exists layers.%I cascade', 'l' || old.id || '_source');
  if exists (select 1 from pg_class where oid = to_regclass('layers.l' || old.id) and relkind = 'v') then
    execute format('drop view layers.%I cascade', 'l' || old.id);
    return null;
  end if;
  execute format('drop table if exists layers.%I cascade', 'l' || old.id);
  foreach band in array old.bands loop
    execute format('drop table if exists layers.%I', 'l' || old.id || '_z' || band);
    execute format('drop table if exists layers.%I', 'l' || old.id || '_g' || band);
  end loop;
  perform drop_thinning(old.id, null);
  return null;
end $$;
