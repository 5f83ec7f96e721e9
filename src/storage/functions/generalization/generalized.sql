-- Large layers are drawn from generalised geometry, one table per band of zooms (layers.l<id>_z<highest zoom>):
-- simplified to a third of a pixel, objects under half a pixel left out. Made after an import, kept up by triggers.
create or replace function generalized(g geometry, pixel double precision) returns geometry language sql immutable parallel safe begin atomic
  select case
    when st_dimension(g) = 0 then g
    when greatest(st_xmax(g) - st_xmin(g), st_ymax(g) - st_ymin(g)) < pixel / 2 then null
    else st_simplify(g, pixel / 3, true) end;
end;
