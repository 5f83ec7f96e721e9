-- EPSG:3857 of a geometry in degrees, with heights; latitudes must be within those of EPSG:3857. Longitudes go on beyond 180 degrees.
create or replace function project_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmin(g) >= -180 and st_xmax(g) <= 180 then st_transform(g, 3857) else to_mercator_beyond(g) end;
end;
