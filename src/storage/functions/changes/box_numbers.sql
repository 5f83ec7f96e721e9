-- Inlined where it is used, and bound to PostGIS here, whatever search path a client has.
create or replace function box_numbers(g geometry) returns double precision[] language sql immutable parallel safe begin atomic
  select array[st_xmin(g), st_ymin(g), st_xmax(g), st_ymax(g)];
end;
