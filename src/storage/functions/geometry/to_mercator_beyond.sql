-- EPSG:3857 of a geometry in degrees that goes beyond 180. One that is wider than a turn goes a slower way.
create or replace function to_mercator_beyond(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_xmax(g) - st_xmin(g) <= 360
    then st_translate(st_transform(st_translate(g, -dx, 0), 3857), dx * 111319.49079327358, 0)
    else st_setsrid(st_transform(g, '+proj=longlat +datum=WGS84 +over +no_defs', '+proj=webmerc +datum=WGS84 +over +no_defs'), 3857)
    end
  from (select beyond_shift(st_xmin(g), st_xmax(g), 180) as dx) shift;
end;
