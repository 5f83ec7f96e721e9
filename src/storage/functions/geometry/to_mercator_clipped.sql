-- Web Mercator of what a map can show. Beyond the projection's edge of latitude the geometry is cut off, for the poles have no
-- finite place there; a geometry wholly beyond becomes null (it is kept as sent in geom). Cutting turns polygons that cross
-- themselves (Antarctica along the antimeridian) inside out, so those are mended first.
create or replace function to_mercator_clipped(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_isempty(c) then null else project_mercator(c) end
  from (select st_clipbybox2d(case when st_isvalid(g) then g else st_makevalid(g) end,
          st_makeenvelope(-100000, -85.06, 100000, 85.06, 4326)) as c) cut;
end;
