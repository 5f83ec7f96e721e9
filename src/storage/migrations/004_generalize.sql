-- Large layers are drawn from generalised geometry, one table per band of zooms (layers.l<id>_z<highest zoom>):
-- simplified to a third of a pixel, objects under half a pixel left out. Made after an import, kept up by triggers.

create function generalized(g geometry, pixel double precision) returns geometry language sql immutable parallel safe begin atomic
  select case
    when st_dimension(g) = 0 then g
    when greatest(st_xmax(g) - st_xmin(g), st_ymax(g) - st_ymin(g)) < pixel / 2 then null
    else st_simplify(g, pixel / 3, true) end;
end;

-- Metres per pixel of 256-pixel tiles at a zoom.
create function pixel_metres(zoom int) returns double precision language sql immutable parallel safe begin atomic
  select 2 * 20037508.342789244 / 256 / 2 ^ zoom;
end;

create function keep_bands() returns trigger language plpgsql as $$
declare
  layer_table text := 'l' || tg_argv[0];
  band int;
begin
  foreach band in array coalesce((select bands from mapwright.layer where id = tg_argv[0]::bigint), array[]::int[]) loop
    if tg_op = 'TRUNCATE' then
      execute format('truncate layers.%I', layer_table || '_z' || band);
      continue;
    end if;
    if tg_op in ('UPDATE', 'DELETE') then
      execute format('delete from layers.%I b using old_rows o where b.svc_id = o.svc_id', layer_table || '_z' || band);
    end if;
    if tg_op in ('UPDATE', 'INSERT') then
      execute format('insert into layers.%I select svc_id, g from
          (select svc_id, mapwright.generalized(geom_3857, mapwright.pixel_metres(%s)) g from new_rows where geom_3857 is not null) n
        where g is not null', layer_table || '_z' || band, band);
    end if;
  end loop;
  return null;
end $$;

-- Gives a layer its bands when it is large enough to gain from them. Readers are not held up; writers wait.
create function generalize_layer(id_of_layer bigint) returns int[] language plpgsql set search_path from current as $$
declare
  layer_table text := 'l' || id_of_layer;
  present int[] := (select bands from layer where id = id_of_layer);
  made int[] := '{}';
  band int;
  vertices bigint;
  finer bigint;
  kept bigint;
begin
  if cardinality(present) > 0 then return present; end if; -- kept up by triggers since they were made
  execute format('lock table layers.%I in share row exclusive mode', layer_table);
  execute format('select coalesce(sum(st_npoints(geom_3857)), 0) from layers.%I where st_dimension(geom_3857) > 0', layer_table)
    into vertices;
  if vertices < 20000 then return present; end if;
  finer := vertices;
  -- From the finest band on; each is made only if it is much lighter than the next finer one.
  foreach band in array array[10, 8, 6, 4] loop
    execute format('create table layers.%I (svc_id bigint primary key, geom geometry(Geometry, 3857) not null)',
      layer_table || '_z' || band);
    execute format('insert into layers.%I select svc_id, g from
        (select svc_id, generalized(geom_3857, pixel_metres(%s)) g from layers.%I where geom_3857 is not null) n
      where g is not null order by st_envelope(g)', layer_table || '_z' || band, band, layer_table);
    execute format('select coalesce(sum(st_npoints(geom)), 0) from layers.%I', layer_table || '_z' || band) into kept;
    if kept > finer * 0.8 then
      execute format('drop table layers.%I', layer_table || '_z' || band);
      continue;
    end if;
    execute format('create index on layers.%I using gist (geom)', layer_table || '_z' || band);
    execute format('analyze layers.%I', layer_table || '_z' || band);
    finer := kept;
    made := band || made;
  end loop;
  if cardinality(made) = 0 then return made; end if;
  update layer set bands = made where id = id_of_layer;
  execute format('create trigger bands_inserted after insert on layers.%I referencing new table as new_rows
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_updated after update on layers.%I
    referencing old table as old_rows new table as new_rows for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_deleted after delete on layers.%I referencing old table as old_rows
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  execute format('create trigger bands_truncated after truncate on layers.%I
    for each statement execute function keep_bands(%L)', layer_table, id_of_layer);
  return made;
end $$;

create or replace function drop_layer_table() returns trigger language plpgsql set search_path from current as $$
declare
  band int;
begin
  execute format('drop table if exists layers.%I', 'l' || old.id);
  foreach band in array old.bands loop
    execute format('drop table if exists layers.%I', 'l' || old.id || '_z' || band);
  end loop;
  return null;
end $$;
