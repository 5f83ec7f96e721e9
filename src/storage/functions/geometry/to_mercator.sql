-- EPSG:3857 of a geometry in degrees, flat, as it is drawn; null where nothing of it can be. Longitudes beyond 180 degrees keep
-- their place: PROJ would wrap them, so that a polygon from 170 to 190 degrees became a band around the rest of the world.
create or replace function to_mercator(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when g is null or st_isempty(g) then null
    when st_ymin(g) < -85.06 or st_ymax(g) > 85.06 then to_mercator_clipped(st_force2d(g))
    when st_xmin(g) < -180 or st_xmax(g) > 180 then to_mercator_beyond(st_force2d(g))
    else st_transform(st_force2d(g), 3857) end;
end;
