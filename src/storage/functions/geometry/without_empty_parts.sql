-- A geometry without those of its parts that are empty, for what cannot deal with them: over an empty point or line
-- ST_PointOnSurface takes PostgreSQL down, for an empty point ST_AsGeoJSON leaves a gap, GDAL reads nothing beyond an empty
-- line. Collections are flat then. One that is empty altogether stays as it is.
create or replace function without_empty_parts(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    when st_geometrytype(g) not like 'ST_Multi%' and st_geometrytype(g) <> 'ST_GeometryCollection' then g
    -- Of collections that are empty st_dump gives no part.
    when st_geometrytype(g) = 'ST_GeometryCollection' and strpos(st_astext(g), 'EMPTY') = 0 then g
    when st_geometrytype(g) <> 'ST_GeometryCollection' and not exists (select from st_dump(g) d where st_isempty(d.geom)) then g
    else (
      select coalesce(case when st_geometrytype(g) = 'ST_GeometryCollection' then st_forcecollection(parts) else st_multi(parts) end, g)
      from (select st_collect(d.geom order by d.path) as parts from st_dump(g) d where not st_isempty(d.geom)) whole
    ) end;
end;
