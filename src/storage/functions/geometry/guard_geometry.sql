-- What a layer's table may hold as geometry, and the trigger that projects it. Rows that are there are not looked at.
create or replace function guard_geometry(name text) returns void language plpgsql set search_path from current as $$
begin
  -- PostGIS's view geometry_columns takes the number out of the constraint's text, up to the second equals sign.
  execute format('alter table layers.%I
    add constraint geom_srid check ((st_srid(geom) = 4326) = true) not valid,
    add constraint geom_without_m check (st_zmflag(geom) in (0, 2)) not valid', name);
  execute format('create trigger project_geom before insert or update of geom, geom_3857 on layers.%I
    for each row execute function project_geom()', name);
end $$;
