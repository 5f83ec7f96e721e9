-- A repaired geometry of the same kind as the broken one: of what ST_MakeValid finds, the parts of its dimension. One that has
-- none (a polygon without any area) stays as it is. Where ST_MakeValid cannot tell the height of a vertex that it makes, the
-- geometry goes on without heights.
create or replace function repaired(g geometry) returns geometry language sql immutable parallel safe begin atomic
  select case when st_zmflag(mended) = 2 and strpos(st_astext(mended), 'NaN') > 0 then st_force2d(mended) else mended end
  from (
    select case
      when st_geometrytype(g) = 'ST_GeometryCollection' then st_makevalid(g)
      when st_isempty(parts) then g
      when st_numgeometries(parts) = 1 and st_geometrytype(g) not like 'ST_Multi%' then st_geometryn(parts, 1)
      else parts end as mended
    from (select st_collectionextract(st_makevalid(g), st_dimension(g) + 1) as parts offset 0) made
    offset 0
  ) whole;
end;
