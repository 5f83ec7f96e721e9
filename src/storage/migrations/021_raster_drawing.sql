-- How images of raster layers are drawn on tiles.
alter table raster
  -- The image that tiles are drawn from, where the processed one has values that are no colours: one band of numbers, or
  -- colours in 8 bits. Null = the processed one.
  add column drawn uuid unique,
  -- Least and greatest value of the one band; null = the image has colours.
  add column value_range double precision[] check (cardinality(value_range) = 2),
  -- xmin, ymin, xmax, ymax of the processed image in metres of EPSG:3857; x beyond the antimeridian goes on.
  add column extent double precision[] check (cardinality(extent) = 4),
  -- Whether values or colours stand for something and are not to be mixed.
  add column is_discrete boolean not null default false;
