-- Pixel of a coordinate at a zoom, from the middle of the map. Pixels of a zoom are four of the next: the numbers are
-- halved.
create or replace function pixel_of(metres double precision, zoom int) returns int language sql immutable parallel safe begin atomic
  select floor(metres / pixel_metres(zoom))::int;
end;
