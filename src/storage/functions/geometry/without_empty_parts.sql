-- A geometry without those of its parts that are empty, for what cannot deal with them: over an empty point or line
-- ST_PointOnSurface takes PostgreSQL down, for an empty point ST_AsGeoJSON leaves a gap, GDAL reads nothing beyond an empty
-- line. Nearly all have one part: PostgreSQL puts this body in the place of the call, unless the argument is dear.
create or replace function without_empty_parts(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_numgeometries(g) > 1 or geometrytype(g) = 'GEOMETRYCOLLECTION' then nonempty_parts(g) else g end;
end;
