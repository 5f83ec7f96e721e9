-- EPSG:4326 of a geometry in metres, whose longitudes go on beyond 180 degrees.
create or replace function project_degrees(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmin(g) >= -20037508.342789244 and st_xmax(g) <= 20037508.342789244
    then st_transform(g, 4326) else to_degrees_beyond(g) end;
end;
