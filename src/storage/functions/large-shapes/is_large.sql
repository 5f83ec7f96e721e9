-- Whether an object's geometry is read from runs.
create or replace function is_large(g geometry) returns boolean language sql immutable parallel safe
return st_npoints(g) > 2000 and geometrytype(g) in ('POLYGON', 'MULTIPOLYGON', 'LINESTRING', 'MULTILINESTRING');
