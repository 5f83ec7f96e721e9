-- Points are thinned ahead of time: of those that fall on one pixel and look alike, the one that is drawn last covers the
-- others. A thinning is a set of tables, layers.l<id>_p<number>_z<zoom>, each with the points of that zoom, and each made
-- from the next finer one. Which points look alike depends on the style's rules.

create table thinning (
  -- No reference: the rows say which tables go with the layer (drop_layer_table).
  layer_id bigint not null,

  number int not null,
  -- Of the expression and the masks; 'plain' = no rule looks at a column.
  digest text not null,
  -- SQL of the rules that an object of the row o$ matches, one bit each.
  bits text not null,
  -- Physical names of the columns that it reads.
  columns text[] not null,
  -- For each zoom from 0 on, the bits of the rules that draw the same opaque marker for each point, and of those under
  -- which every point is drawn. Those of a zoom are among those of the next.
  kinds bigint[] not null,
  keeps bigint[] not null,
  -- Zooms of the tables, ascending.
  bands int[] not null default '{}',
  -- The tables are being made; what is edited meanwhile is noted in thinning_pending.
  building boolean not null default false,
  -- Since when another has taken its place: nodes that have not heard of it may still read it for a while.
  retired_at timestamptz,
  primary key (layer_id, number)
);

-- For each combination of rules the values of some object that matches them, by which Mapnik finds the same rules again.
create table thinned_class (
  layer_id bigint not null,
  number int not null,
  bits bigint not null,
  sample jsonb not null,
  primary key (layer_id, number, bits)
);

create table thinning_pending (
  layer_id bigint not null,
  number int not null,
  -- null = all
  ids bigint[]
);
create index thinning_pending_thinning on thinning_pending (layer_id, number);

create function thinning_changed() returns trigger language plpgsql set search_path from current as $$
begin
  perform bump_map(n.map_id) from node n where n.id = coalesce(new.layer_id, old.layer_id);
  return null;
end $$;
create trigger thinning_changed after insert or update or delete on thinning
  for each row execute function thinning_changed();

-- Ids of the objects that a transaction touched; null = all. As layer_touch, it is empty to everyone else.
create unlogged table point_touch (
  transaction_id xid8 not null default pg_current_xact_id(),
  layer_id bigint not null,
  ids bigint[]
);
create index point_touch_transaction on point_touch (transaction_id);

create function note_points() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into mapwright.point_touch (layer_id, ids) values (tg_argv[0]::bigint, null);
  elsif tg_op = 'DELETE' then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id) from old_rows having count(*) > 0;
  elsif tg_op = 'INSERT' then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id) from new_rows having count(*) > 0;
  elsif exists (select from mapwright.thinning where layer_id = tg_argv[0]::bigint and columns <> '{}') then
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(svc_id)
      from (select svc_id from old_rows union select svc_id from new_rows) both_rows having count(*) > 0;
  else
    insert into mapwright.point_touch (layer_id, ids)
      select tg_argv[0]::bigint, array_agg(coalesce(o.svc_id, n.svc_id))
      from old_rows o full join new_rows n using (svc_id)
      where o.geom_3857 is distinct from n.geom_3857 having count(*) > 0;
  end if;
  return null;
end $$;

create function attach_thinning(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  -- By their names they come after the triggers touch_*, so that the layer's row is held when the tables are written.
  execute format('create or replace trigger touched_points_inserted after insert on layers.%I
    referencing new table as new_rows for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows
    for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_deleted after delete on layers.%I
    referencing old table as old_rows for each statement execute function note_points(%L)', layer_table, id_of_layer);
  execute format('create or replace trigger touched_points_truncated after truncate on layers.%I
    for each statement execute function note_points(%L)', layer_table, id_of_layer);
end $$;

-- Pixel of a coordinate at a zoom, from the middle of the map. Pixels of a zoom are four of the next: the numbers are
-- halved.
create function pixel_of(metres double precision, zoom int) returns int language sql immutable parallel safe begin atomic
  select floor(metres / pixel_metres(zoom))::int;
end;

-- SQL of the points of a layer's table as rows x, y, bits, svc_id, geom. What is no single point is always drawn: bit 62.
-- (`offset 0`: each expression is evaluated once.)
create function points_sql(schema_name text, table_name text, spec thinning, zoom int, condition text default 'true') returns text
language sql stable set search_path from current as $$
  select format('select pixel_of(st_xmin(o$.geom_3857), %1$s) as x, pixel_of(st_ymin(o$.geom_3857), %1$s) as y,
      case when st_geometrytype(o$.geom_3857) = ''ST_Point'' then %2$s else (%2$s) | (1::bigint << 62) end as bits,
      o$.svc_id, o$.geom_3857 as geom
    from %3$I.%4$I o$ where o$.geom_3857 is not null and %5$s offset 0', zoom, spec.bits, schema_name, table_name, condition)
$$;

-- Bits of rules under which each point is drawn.
create function keep_mask(spec thinning, zoom int) returns bigint language sql immutable as $$
  select spec.keeps[zoom + 1] | (1::bigint << 62)
$$;

-- SQL of the rows of a band, from rows x, y, bits, svc_id, geom of pixels of its zoom.
create function thinned_sql(points text, spec thinning, zoom int) returns text
language sql stable set search_path from current as $$
  select format('select distinct on (x, y, class) x, y, class, bits, svc_id, geom from (
      select p.*, case when bits & %s <> 0 then -1 - svc_id else bits & %s end as class from (%s) p) classed
    order by x, y, class, svc_id desc', keep_mask(spec, zoom), spec.kinds[zoom + 1], points)
$$;

-- SQL of the rows of a finer band as those of the pixels of a coarser one.
create function coarser_sql(band_table text, steps int) returns text language sql immutable as $$
  select format('select x >> %1$s as x, y >> %1$s as y, bits, svc_id, geom from %2$s', steps, band_table)
$$;

-- Notes a sample for each new combination of rules that objects of the table match.
create function sample_classes(schema_name text, table_name text, spec thinning, ids bigint[]) returns void
language plpgsql set search_path from current as $$
begin
  if spec.columns = '{}' then return; end if;
  execute format('insert into thinned_class (layer_id, number, bits, sample)
      select distinct on (bits) $1, $2, bits, sample from (
        select (%s) as bits, jsonb_build_object(%s) as sample from %I.%I o$
        where ($3 is null or o$.svc_id = any($3)) and st_geometrytype(o$.geom_3857) = ''ST_Point'') seen
      where not exists (select from thinned_class k where k.layer_id = $1 and k.number = $2 and k.bits = seen.bits)
      order by bits
    on conflict do nothing', spec.bits,
      (select string_agg(format('%L, o$.%I', name, name), ', ') from unnest(spec.columns) name), schema_name, table_name)
    using spec.layer_id, spec.number, ids;
end $$;

-- Makes the tables of a thinning beside a table that nobody changes meanwhile; returns their zooms. Each has at most 60 %
-- of the rows of the next finer one.
create function make_thinning(schema_name text, table_name text, spec thinning) returns int[]
language plpgsql set search_path from current as $$
declare
  finest int := least(12, cardinality(spec.kinds) - 1);
  made int[] := '{}';
  rows_before bigint;
  rows_now bigint;
  zoom int;
  finer int;
  band_table text;
begin
  execute format('select count(*) from %I.%I where geom_3857 is not null', schema_name, table_name) into rows_before;
  if rows_before < 20000 then return made; end if;
  perform set_config('work_mem', '128MB', true);
  -- From which zoom on points share pixels, by the pixels whose hash is one of a few.
  for zoom, rows_now in execute format('select zoom, count(*) * %1$s from (
      select distinct zoom, key from (
        select zoom, (pixel_of(st_xmin(geom_3857), zoom)::bigint << 32) | (pixel_of(st_ymin(geom_3857), zoom)::bigint & 4294967295) as key
        from %2$I.%3$I, (values (12), (10), (8), (6)) z (zoom) where geom_3857 is not null and zoom <= %4$s) keys
      where hashint8(key) & 1023 < 1024 / %1$s) few group by zoom order by zoom desc',
      greatest(1, least(1024, 2 ^ floor(log(2, rows_before / 20000.0)))::int), schema_name, table_name, finest)
  loop
    exit when rows_now <= 0.6 * rows_before;
    finest := least(finest, zoom - 2);
  end loop;
  for zoom in reverse finest .. 0 loop
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

-- Drops the tables of a thinning; null = of all that the layer has.
create function drop_thinning(id_of_layer bigint, which int) returns void language plpgsql set search_path from current as $$
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

-- A pixel's point that is new in a band, or was in it.
create type point_change as (x int, y int, bits bigint, svc_id bigint, gone boolean);

-- Makes all bands of a thinning anew, in their tables.
create function rebuild_thinning(spec thinning) returns void language plpgsql set search_path from current as $$
declare
  name text := format('l%s', spec.layer_id);
  zoom int;
  finer int;
begin
  for zoom in select band from unnest(spec.bands) band order by band desc loop
    execute format('delete from layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
    execute format('insert into layers.%I %s', format('%s_p%s_z%s', name, spec.number, zoom), thinned_sql(
      case when finer is null then points_sql('layers', name, spec, zoom)
      else coarser_sql(format('layers.%I', format('%s_p%s_z%s', name, spec.number, finer)), finer - zoom) end, spec, zoom));
    finer := zoom;
  end loop;
  perform sample_classes('layers', name, spec, null);
end $$;

-- Brings the bands of a thinning up to what the objects with these ids are now. The caller holds the layer's row, so that
-- one transaction at a time does it, and sees what those before it have done.
create function refresh_thinning(spec thinning, ids bigint[]) returns void language plpgsql set search_path from current as $$
declare
  name text := format('l%s', spec.layer_id);
  zooms int[] := (select array_agg(band order by band desc) from unnest(spec.bands) band);
  zoom int := zooms[1];
  band_table text := format('layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
  finer_table text;
  steps int;
  keep bigint := keep_mask(spec, zoom);
  kind bigint := spec.kinds[zoom + 1];
  changes point_change[];
  more point_change[];
  upsert constant text := 'on conflict (x, y, class) do update
    set bits = excluded.bits, svc_id = excluded.svc_id, geom = excluded.geom where ';
begin
  -- The finest band, from the objects.
  execute format('with gone as (delete from %s where svc_id = any($1) returning x, y, bits, svc_id)
    select array_agg(row(x, y, bits, svc_id, true)::point_change) from gone', band_table) into changes using ids;
  execute format('with put as (insert into %s as t %s %s excluded.svc_id > t.svc_id returning x, y, bits, svc_id)
    select array_agg(row(x, y, bits, svc_id, false)::point_change) from put',
    band_table, thinned_sql(points_sql('layers', name, spec, zoom, 'o$.svc_id = any($1)'), spec, zoom), upsert) into more using ids;
  if changes is not null then
    changes := changes || more;
    -- Of a pixel with more than a thousand such points, which all lie in one place, any one will do.
    execute format('with pixel as (
        select distinct x, y, bits & %1$s as class from unnest($1) where gone and bits & %2$s = 0
      ), put as (
        insert into %3$s as t (x, y, class, bits, svc_id, geom)
        select pixel.x, pixel.y, pixel.class, found.bits, found.svc_id, found.geom
        from pixel cross join lateral (
          select * from (
            select p.bits, p.svc_id, p.geom from (%4$s) p
            where p.x = pixel.x and p.y = pixel.y and p.bits & %2$s = 0 and p.bits & %1$s = pixel.class limit 1000) some_points
          order by svc_id desc limit 1) found
        %5$s excluded.svc_id > t.svc_id returning x, y, bits, svc_id)
      select array_agg(row(x, y, bits, svc_id, false)::point_change) from put',
      kind, keep, band_table, points_sql('layers', name, spec, zoom, format(
        'o$.geom_3857 && st_makeenvelope(pixel.x * %1$s, pixel.y * %1$s, (pixel.x + 1) * %1$s, (pixel.y + 1) * %1$s, 3857)',
        pixel_metres(zoom))), upsert) into more using changes;
  end if;
  changes := changes || more;
  if more is not null then perform sample_classes('layers', name, spec, array(select svc_id from unnest(changes))); end if;
  -- The others, each from the next finer one.
  foreach zoom in array zooms[2:] loop
    exit when changes is null;
    finer_table := band_table;
    band_table := format('layers.%I', format('%s_p%s_z%s', name, spec.number, zoom));
    steps := zooms[array_position(zooms, zoom) - 1] - zoom;
    keep := keep_mask(spec, zoom);
    kind := spec.kinds[zoom + 1];
    if exists (select from unnest(changes) where bits & keep <> 0) then
      execute format('delete from %s t using unnest($1) c
        where c.gone and c.bits & %s <> 0 and t.x = c.x >> %3$s and t.y = c.y >> %3$s and t.class = -1 - c.svc_id',
        band_table, keep, steps) using changes;
      execute format('insert into %s select distinct on (f.svc_id) f.x >> %2$s, f.y >> %2$s, -1 - f.svc_id, f.bits, f.svc_id, f.geom
        from unnest($1) c join %3$s f on f.x = c.x and f.y = c.y and f.class = -1 - c.svc_id where f.bits & %4$s <> 0
        %5$s true', band_table, steps, finer_table, keep, upsert) using changes;
    end if;
    execute format('with pixel as (
        select distinct x >> %1$s as x, y >> %1$s as y, bits & %2$s as class from unnest($1) where bits & %3$s = 0
      ), found as materialized (
        select pixel.*, f.bits, f.svc_id, f.geom from pixel left join lateral (
          select f.bits, f.svc_id, f.geom from %4$s f
          where f.x = any(array(select generate_series(pixel.x << %1$s, (pixel.x << %1$s) + %5$s)))
            and f.y between pixel.y << %1$s and (pixel.y << %1$s) + %5$s
            and f.bits & %3$s = 0 and f.bits & %2$s = pixel.class
          order by f.svc_id desc limit 1) f on true
      ), lost as (
        delete from %6$s t using found n where n.svc_id is null and t.x = n.x and t.y = n.y and t.class = n.class
        returning t.x, t.y, t.bits, t.svc_id
      ), put as (
        insert into %6$s as t (x, y, class, bits, svc_id, geom)
        select x, y, class, bits, svc_id, geom from found where svc_id is not null
        %7$s t.svc_id <> excluded.svc_id or excluded.svc_id = any($2) returning x, y, bits, svc_id)
      select array_agg(row(x, y, bits, svc_id, gone)::point_change) from (
        select *, true as gone from lost union all select *, false from put
        union all select x >> %1$s, y >> %1$s, bits, svc_id, gone from unnest($1) where bits & %3$s <> 0) now_changed',
      steps, kind, keep, finer_table, (1 << steps) - 1, band_table, upsert) into changes using changes, ids;
  end loop;
end $$;

-- Brings a thinning up to what objects are now, whichever way is cheaper; null = all objects. As refresh_thinning.
create function follow_edits(spec thinning, ids bigint[]) returns void language plpgsql set search_path from current as $$
declare
  rows_of_finest real := (select reltuples from pg_class where oid = to_regclass(
    format('layers.l%s_p%s_z%s', spec.layer_id, spec.number, (select max(band) from unnest(spec.bands) band))));
begin
  if ids is null or cardinality(ids) > greatest(1000, rows_of_finest / 5) then
    perform rebuild_thinning(spec);
  else
    perform refresh_thinning(spec, ids);
  end if;
end $$;

create function points_touched() returns trigger language plpgsql set search_path from current as $$
declare
  touched record;
  spec thinning;
begin
  for touched in
    with mine as (
      delete from point_touch where transaction_id = pg_current_xact_id() returning layer_id, ids
    )
    select layer_id, bool_or(ids is null) as whole,
      array(select distinct id from mine m, unnest(m.ids) id where m.layer_id = mine.layer_id) as ids
    from mine group by layer_id order by layer_id
  loop
    perform from layer where id = touched.layer_id for no key update;
    continue when not found;
    for spec in
      select * from thinning where layer_id = touched.layer_id and (building or cardinality(bands) > 0) order by number
    loop
      if spec.building then
        insert into thinning_pending (layer_id, number, ids)
          values (spec.layer_id, spec.number, case when not touched.whole then touched.ids end);
        continue;
      end if;
      begin
        perform follow_edits(spec, case when not touched.whole then touched.ids end);
      exception when undefined_column or undefined_function or data_exception then
        -- A column that the style's rules look at is gone, or is another one: the style is drawn from all points.
        perform drop_thinning(spec.layer_id, spec.number);
      end;
    end loop;
  end loop;
  return null;
end $$;
create constraint trigger points_touched after insert on point_touch
  deferrable initially deferred for each row execute function points_touched();

-- A thinning that is of use to every style without rules about columns.
create function plain_thinning(id_of_layer bigint) returns thinning language sql stable set search_path from current as $$
  select row(id_of_layer, 1, 'plain', '0::bigint', '{}'::text[], array_fill(0::bigint, array[13]),
    array_fill(0::bigint, array[13]), '{}'::int[], false, null)::thinning
$$;

-- Whether most of some objects of a table are points.
create function holds_points(schema_name text, table_name text) returns boolean language plpgsql as $$
declare
  found boolean;
begin
  execute format('select count(*) filter (where st_dimension(geom_3857) = 0) > 0.9 * count(*)
    from (select geom_3857 from %I.%I where geom_3857 is not null limit 1000) some_objects', schema_name, table_name) into found;
  return found;
end $$;

-- Thins a layer's points when there are enough of them. Readers are not held up; writers wait.
create function thin_points(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
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

-- Makes the thinnings that a layer has beside a table of the schema staging that is to take the place of its table.
create function thin_filled(id_of_layer bigint, filled text) returns jsonb language plpgsql set search_path from current as $$
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

-- Puts them in the place of the layer's. Its table has been replaced.
create function replace_thinnings(id_of_layer bigint, filled text, made jsonb) returns void
language plpgsql set search_path from current as $$
declare
  spec thinning;
  band int;
  band_index record;
begin
  perform drop_thinning(id_of_layer, number) from thinning where layer_id = id_of_layer;
  for spec in select (jsonb_populate_record(null::thinning, each)).* from jsonb_array_elements(made) each loop
    continue when cardinality(spec.bands) = 0;
    foreach band in array spec.bands loop
      execute format('alter table staging.%I rename to %I', format('%s_p%s_z%s', filled, spec.number, band),
        format('l%s_p%s_z%s', id_of_layer, spec.number, band));
      execute format('alter table staging.%I set schema layers', format('l%s_p%s_z%s', id_of_layer, spec.number, band));
      for band_index in
        select indexrelid::regclass as old_name, replace(c.relname, filled || '_p', format('l%s_p', id_of_layer)) as new_name
        from pg_index join pg_class c on c.oid = indexrelid
        where indrelid = to_regclass(format('layers.l%s_p%s_z%s', id_of_layer, spec.number, band))
      loop
        execute format('alter index %s rename to %I', band_index.old_name, band_index.new_name);
      end loop;
    end loop;
    insert into thinning select spec.*;
    perform sample_classes('layers', 'l' || id_of_layer, spec, null);
    perform attach_thinning(id_of_layer);
  end loop;
end $$;

-- As before; points are thinned too.
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
  update layer set bands = made where id = id_of_layer;
  perform attach_bands(id_of_layer);
  return made;
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
  end loop;
  perform drop_thinning(old.id, null);
  return null;
end $$;

-- What a changed column says of its objects is written without triggers.
create function column_retyped() returns trigger language plpgsql set search_path from current as $$
begin
  perform drop_thinning(layer_id, number) from thinning where layer_id = old.layer_id and 'c' || old.id = any(columns);
  return null;
end $$;
create trigger column_retyped after delete or update of type, localized_value on layer_column
  for each row execute function column_retyped();

-- A thinning for other rules is made while the layer is edited, in three transactions: begin_thinning(), make_thinning()
-- and finish_thinning(). Writers wait for the first and the last.

-- Layers with so many points that they ought to be thinned, and that are not: they have grown by edits.
create function unthinned_layers() returns setof bigint language sql stable set search_path from current as $$
  select l.id from layer l join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
  where l.geometry_kind = 'Point' and c.reltuples >= 20000 and not exists (select from thinning t where t.layer_id = l.id)
$$;

-- Returns the number of the new thinning; null = the layer is thinned so already.
create function begin_thinning(id_of_layer bigint, wanted jsonb) returns int language plpgsql set search_path from current as $$
declare
  spec thinning;
begin
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

-- Puts the tables to use. Those for other rules, but the plain ones, are no longer used.
create function finish_thinning(id_of_layer bigint, which int, made int[]) returns void
language plpgsql set search_path from current as $$
declare
  spec thinning;
begin
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

-- Drops what is no longer read, and what broken makings have left. The caller is the only one that makes thinnings.
create function sweep_thinnings() returns void language plpgsql set search_path from current as $$
declare
  left_over text;
begin
  perform drop_thinning(layer_id, number) from thinning
    where building or retired_at < now() - interval '1 minute';
  for left_over in
    select c.relname from pg_class c
    where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+_p[0-9]+_z[0-9]+$'
      and not exists (select from thinning t where c.relname ~ format('^l%s_p%s_', t.layer_id, t.number)
        and substring(c.relname from '[0-9]+$')::int = any(t.bands))
  loop
    execute format('drop table layers.%I', left_over);
  end loop;
end $$;
