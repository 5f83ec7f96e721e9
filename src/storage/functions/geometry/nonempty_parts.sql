-- The parts of a geometry that are not empty, as one of the same kind; one that is empty altogether stays as it is. Collections
-- are flat then.
create or replace function nonempty_parts(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case
    -- Of collections that are empty st_dump gives no part.
    when st_geometrytype(g) = 'ST_GeometryCollection' and strpos(st_astext(g), 'EMPTY') = 0 then g
    when st_geometrytype(g) <> 'ST_GeometryCollection' and not exists (select from st_dump(g) d where st_isempty(d.geom)) then g
    else (
      select coalesce(case when st_geometrytype(g) = 'ST_GeometryCollection' then st_forcecollection(parts) else st_multi(parts) end, g)
      from (select st_collect(d.geom order by d.path) as parts from st_dump(g) d where not st_isempty(d.geom)) whole
    ) end;
end;
