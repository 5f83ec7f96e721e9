-- Trigger of a layer's table: projects a row's geometry.
create or replace function project_geom() returns trigger language plpgsql as $$
begin
  new.geom_3857 := mapwright.to_mercator(new.geom);
  return new;
end $$;
