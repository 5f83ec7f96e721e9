-- Metres per pixel of 256-pixel tiles at a zoom.
create or replace function pixel_metres(zoom int) returns double precision language sql immutable parallel safe begin atomic
  select 2 * 20037508.342789244 / 256 / 2 ^ zoom;
end;
