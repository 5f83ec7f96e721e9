-- Whether most of some objects of a table are points.
create or replace function holds_points(schema_name text, table_name text) returns boolean language plpgsql as $$
declare
  found boolean;
begin
  execute format('select count(*) filter (where st_dimension(geom_3857) = 0) > 0.9 * count(*)
    from (select geom_3857 from %I.%I where geom_3857 is not null limit 1000) some_objects', schema_name, table_name) into found;
  return found;
end $$;
