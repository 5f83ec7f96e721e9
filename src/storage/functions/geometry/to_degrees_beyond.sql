-- EPSG:4326 of a geometry in metres that goes beyond 180 degrees, the reverse of to_mercator_beyond(). One that is wider than a turn
-- goes a slower way.
create or replace function to_degrees_beyond(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmax(g) - st_xmin(g) <= 2 * 20037508.342789244
    then st_translate(st_transform(st_translate(g, -dx, 0), 4326), dx / 111319.49079327358, 0)
    else st_setsrid(st_transform(g, '+proj=webmerc +datum=WGS84 +over +no_defs', '+proj=longlat +datum=WGS84 +over +no_defs'), 4326)
    end
  from (select beyond_shift(st_xmin(g), st_xmax(g), 20037508.342789244) as dx) shift;
end;
