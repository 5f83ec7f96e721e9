-- Keeps the column up after the layer's table was replaced.
create or replace function recheck_antimeridian(id_of_layer bigint) returns void language plpgsql set search_path from current as $$
declare
  name text := 'l' || id_of_layer;
  found boolean;
begin
  execute format('select exists (select from layers.%I
      where geom_3857 && st_makeenvelope(20037508.35, -1e8, 1e8, 1e8, 3857) and st_xmax(geom_3857) > 20037508.35)
    or exists (select from layers.%I
      where geom_3857 && st_makeenvelope(-1e8, -1e8, -20037508.35, 1e8, 3857) and st_xmin(geom_3857) < -20037508.35)', name, name)
    into found;
  update layer set crosses_antimeridian = found where id = id_of_layer and crosses_antimeridian <> found;
end $$;
