-- after functions
-- Longitudes beyond 180 degrees keep their place, also of objects that are there already: the trigger that projects one also
-- tells of the change.
do $$
declare
  one record;
begin
  for one in
    select c.relname as name from pg_class c
    where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+$'
  loop
    -- The index rounds its boxes.
    execute format('update layers.%I set geom = geom
      where (geom && st_makeenvelope(180, -90, 360, 90, 4326) or geom && st_makeenvelope(-360, -90, -180, 90, 4326))
        and (st_xmax(geom) > 180 or st_xmin(geom) < -180)', one.name);
  end loop;
end $$;
