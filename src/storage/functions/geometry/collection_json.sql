-- GeoJSON of a geometry collection. ST_AsGeoJSON fails on collections within collections, and one such object would
-- fail every list that it is in.
create or replace function collection_json(g geometry, digits int) returns text language plpgsql immutable strict parallel safe
set search_path from current as $$
declare
  members text[];
begin
  for i in 1 .. st_numgeometries(g) loop
    members := members || case st_geometrytype(st_geometryn(g, i))
      when 'ST_GeometryCollection' then collection_json(st_geometryn(g, i), digits)
      else st_asgeojson(without_empty_parts(st_geometryn(g, i)), digits, 0) end;
  end loop;
  return '{"type":"GeometryCollection","geometries":[' || coalesce(array_to_string(members, ','), '') || ']}';
end $$;
