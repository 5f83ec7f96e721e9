-- Lines and polygons of many vertices are read from runs of 256 of them, so that a tile reads those that lie in it. What a
-- run has elsewhere is drawn as its chord: both stay in the run's box, so nothing of either is seen in a tile that the box
-- does not meet, and inside and outside remain what they are, also of rings that cross themselves.
--
-- The table layers.l<id>_c has them: part and ring of the geometry (-1: the part is a line), the run's number in the ring, the
-- boxes of all three, the first vertex, and all of them with the first one of the next run. From a geometry itself each of
-- these would be had only by reading all of it.

alter table layer add column has_runs boolean not null default false;
create trigger layer_runs_changed after update of has_runs on layer for each row execute function layer_changed();

create function vertices_per_run() returns int language sql immutable parallel safe return 256;

-- Whether an object's geometry is read from runs.
create function is_large(g geometry) returns boolean language sql immutable parallel safe
return st_npoints(g) > 2000 and geometrytype(g) in ('POLYGON', 'MULTIPOLYGON', 'LINESTRING', 'MULTILINESTRING');

-- Cuts the bytes of the vertices: as a line of each ring, they are 16 bytes each after a head of 9.
create function runs_of(g geometry)
returns table (part int, ring int, run int, shape_box box, ring_box box, run_box box, start geometry, line geometry)
language sql immutable parallel safe set search_path from current as $$
  with shape as materialized (
    select box(g) as shape_box
  ), ring as (
    select coalesce(d.path[1], 1) as part, r.path[1] as ring, st_exteriorring(r.geom) as line
      from st_dump(st_force2d(g)) d, st_dumprings(d.geom) r where st_dimension(g) = 2
    union all
    select coalesce(d.path[1], 1), -1, d.geom from st_dump(st_force2d(g)) d where st_dimension(g) = 1
  ), bytes as (
    select part, ring, box(line) as ring_box, st_npoints(line) as vertices, st_asbinary(line, 'NDR') as wkb
      from ring where st_npoints(line) > 1 offset 0
  )
  select part, ring, run, shape_box, ring_box, box(line), st_startpoint(line), line
  from (
    -- The last run takes what is left: alone, one vertex would be no line.
    select part, ring, run, ring_box, st_geomfromwkb('\x0102000000'::bytea
        || set_byte(set_byte('\x00000000'::bytea, 0, length & 255), 1, length >> 8)
        || substring(wkb from 10 + 16 * vertices_per_run() * run for 16 * length), 3857) as line
    from bytes, lateral (select greatest(0, (vertices - 3) / vertices_per_run()) as last_run) r,
      generate_series(0, last_run) run,
      lateral (select case run when last_run then vertices - vertices_per_run() * run else vertices_per_run() + 1 end as length) l
    offset 0
  ) cut, shape
$$;

create function create_runs_table(schema_name text, table_name text) returns void language plpgsql
set search_path from current as $$
begin
  execute format('create table %I.%I (svc_id bigint not null, part int not null, ring int not null, run int not null,
    shape_box box not null, ring_box box not null, run_box box not null, start geometry not null, line geometry not null,
    primary key (svc_id, part, ring, run))', schema_name, table_name || '_c');
  -- Coordinates get hardly smaller.
  execute format('alter table %I.%I alter line set storage external', schema_name, table_name || '_c');
end $$;

-- Makes the table of a layer's table, if there are large shapes. Returns whether there are.
create function make_runs(schema_name text, table_name text) returns boolean language plpgsql
set search_path from current as $$
declare
  found_one boolean;
begin
  execute format('select exists (select from %I.%I where is_large(geom_3857))', schema_name, table_name) into found_one;
  if not found_one then return false; end if;
  perform create_runs_table(schema_name, table_name);
  execute format('insert into %I.%I select o.svc_id, r.* from %I.%I o, lateral runs_of(o.geom_3857) r where is_large(o.geom_3857)',
    schema_name, table_name || '_c', schema_name, table_name);
  execute format('analyze %I.%I', schema_name, table_name || '_c');
  return true;
end $$;

create function keep_runs() returns trigger language plpgsql set search_path from current as $$
declare
  id_of_layer bigint := tg_argv[0]::bigint;
  runs text := format('layers.l%s_c', id_of_layer);
begin
  if tg_op = 'TRUNCATE' then
    if to_regclass(runs) is not null then execute format('truncate %s', runs); end if;
    return null;
  end if;
  if tg_op <> 'INSERT' and to_regclass(runs) is not null then
    execute format('delete from %s where svc_id = $1', runs) using old.svc_id;
  end if;
  if tg_op <> 'DELETE' and is_large(new.geom_3857) then
    if to_regclass(runs) is null then
      -- Rows of the catalogue are taken when the transaction ends, by note_runs.
      perform pg_advisory_xact_lock(hashtextextended(runs, 0));
      if to_regclass(runs) is null then perform create_runs_table('layers', 'l' || id_of_layer); end if;
    end if;
    execute format('insert into %s select $1, r.* from runs_of($2) r', runs) using new.svc_id, new.geom_3857;
  end if;
  return null;
end $$;

-- Lets readers know that a layer has runs. Called when its version moves; the map's row is taken before the layer's.
create function note_runs(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
begin
  if to_regclass(format('layers.l%s_c', id_of_layer)) is not null
    and exists (select from layer where id = id_of_layer and not has_runs) then
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set has_runs = true where id = id_of_layer and not has_runs;
  end if;
end $$;

-- As before, and tells of large shapes.
create or replace function note_crossing(id_of_layer bigint, boxes double precision[]) returns void language plpgsql
set search_path from current as $$
begin
  if exists (select from unnest(boxes) with ordinality box (x, place) where place % 2 = 1 and abs(x) > 20037508.35)
    and exists (select from layer where id = id_of_layer and not crosses_antimeridian) then
    perform from map where id = (select map_id from node where id = id_of_layer) for no key update;
    update layer set crosses_antimeridian = true where id = id_of_layer and not crosses_antimeridian;
  end if;
  perform note_runs(id_of_layer);
end $$;

create function attach_runs(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
begin
  execute format('create trigger runs_inserted after insert on layers.%I
    for each row when (mapwright.is_large(new.geom_3857)) execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_updated after update of geom, geom_3857 on layers.%I
    for each row when (mapwright.is_large(old.geom_3857) or mapwright.is_large(new.geom_3857))
    execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_deleted after delete on layers.%I
    for each row when (mapwright.is_large(old.geom_3857)) execute function keep_runs(%L)', layer_table, id_of_layer);
  execute format('create trigger runs_truncated after truncate on layers.%I
    for each statement execute function keep_runs(%L)', layer_table, id_of_layer);
end $$;

create or replace function create_layer_table(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
begin
  execute format('create table layers.%I (
      svc_id bigint generated by default as identity primary key,
      geom geometry,
      geom_3857 geometry(Geometry, 3857)
    )', name);
  perform guard_geometry(name);
  execute format('create index on layers.%I using gist (geom)', name);
  execute format('create index on layers.%I using gist (geom_3857)', name);
  execute format('create trigger touch_inserted after insert on layers.%I referencing new table as new_rows
    for each statement execute function touch_inserted(%L)', name, id_of_layer);
  execute format('create trigger touch_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows
    for each statement execute function touch_updated(%L)', name, id_of_layer);
  execute format('create trigger touch_deleted after delete on layers.%I referencing old table as old_rows
    for each statement execute function touch_deleted(%L)', name, id_of_layer);
  execute format('create trigger touch_truncated after truncate on layers.%I
    for each statement execute function touch_truncated(%L)', name, id_of_layer);
  perform attach_runs(id_of_layer);
end $$;

-- As before, and drops the runs.
create or replace function replace_layer_table(id_of_layer bigint, filled text, made int[]) returns void
language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  old_table regclass := to_regclass(format('layers.%I', name));
  statements text[];
  statement text;
  band int;
begin
  select array_agg(pg_get_triggerdef(oid))
    into statements from pg_trigger where tgrelid = old_table and not tgisinternal and tgname !~ '^bands_';
  statements := coalesce(statements, '{}') || coalesce((
    select array_agg(format('grant %s on layers.%I to %s', privilege_type, name,
      case when grantee = 0 then 'public' else grantee::regrole::text end))
    from pg_class, aclexplode(relacl) where pg_class.oid = old_table and grantee <> relowner), '{}');
  execute format('alter table staging.%I alter svc_id add generated by default as identity', filled);
  execute format('select setval(%L, last_value, is_called) from %s',
    pg_get_serial_sequence('staging.' || filled, 'svc_id'), pg_get_serial_sequence('layers.' || name, 'svc_id'));
  foreach band in array (select bands from layer where id = id_of_layer) loop
    execute format('drop table layers.%I', name || '_z' || band);
  end loop;
  execute format('drop table layers.%I', name);
  -- Here, as servers of an older version replace tables too.
  execute format('drop table if exists layers.%I', name || '_c');
  update layer set has_runs = false where id = id_of_layer and has_runs;
  execute format('alter table staging.%I rename to %I', filled, name);
  execute format('alter table staging.%I set schema layers', name);
  execute format('alter table layers.%I rename constraint %I to %I', name, filled || '_pkey', name || '_pkey');
  execute format('alter index layers.%I rename to %I', filled || '_geom_idx', name || '_geom_idx');
  execute format('alter index layers.%I rename to %I', filled || '_geom_3857_idx', name || '_geom_3857_idx');
  execute format('alter sequence layers.%I rename to %I', filled || '_svc_id_seq', name || '_svc_id_seq');
  foreach band in array made loop
    execute format('alter table staging.%I rename to %I', filled || '_z' || band, name || '_z' || band);
    execute format('alter table staging.%I set schema layers', name || '_z' || band);
    execute format('alter table layers.%I rename constraint %I to %I', name || '_z' || band,
      filled || '_z' || band || '_pkey', name || '_z' || band || '_pkey');
    execute format('alter index layers.%I rename to %I',
      filled || '_z' || band || '_geom_idx', name || '_z' || band || '_geom_idx');
  end loop;
  foreach statement in array statements loop
    execute statement;
  end loop;
  update layer set bands = made where id = id_of_layer;
  if cardinality(made) > 0 then perform attach_bands(id_of_layer); end if;
  insert into layer_touch (layer_id, area) values (id_of_layer, null);
end $$;

-- Puts the runs of a filled table of the schema staging in the place of the layer's.
create function replace_runs(id_of_layer bigint, filled text) returns void language plpgsql
set search_path from current as $$
declare
  name text := 'l' || id_of_layer || '_c';
  are_there boolean := to_regclass(format('staging.%I', filled || '_c')) is not null;
begin
  execute format('drop table if exists layers.%I', name);
  if are_there then
    execute format('alter table staging.%I rename to %I', filled || '_c', name);
    execute format('alter table staging.%I set schema layers', name);
    execute format('alter table layers.%I rename constraint %I to %I', name, filled || '_c_pkey', name || '_pkey');
  end if;
  update layer set has_runs = are_there where id = id_of_layer and has_runs <> are_there;
end $$;

create function drop_runs() returns trigger language plpgsql set search_path from current as $$
begin
  execute format('drop table if exists layers.%I', 'l' || old.id || '_c');
  return null;
end $$;
create trigger drop_runs after delete on layer for each row execute function drop_runs();

-- For the layers that are there, one at a time. What a broken run leaves is done by the next one.
create procedure make_runs_everywhere() language plpgsql as $$
declare
  own record;
begin
  loop
    -- Any of them, so that one that is held for long does not keep the others from their turn.
    select l.id, l.geometry_kind into own from mapwright.layer l
      join pg_class c on c.oid = to_regclass('layers.l' || l.id) and c.relkind = 'r'
      where not exists (select from pg_trigger where tgrelid = c.oid and tgname = 'runs_inserted')
      order by random() limit 1;
    exit when not found;
    begin
      perform set_config('lock_timeout', '1s', true);
      perform mapwright.attach_runs(own.id);
      if own.geometry_kind is distinct from 'Point' and mapwright.make_runs('layers', 'l' || own.id) then
        perform mapwright.note_runs(own.id);
      end if;
    exception when lock_not_available or deadlock_detected or undefined_table then
      perform pg_sleep(0.1);
    end;
    commit;
  end loop;
end $$;
